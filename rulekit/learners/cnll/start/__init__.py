"""Going on from known rules."""
