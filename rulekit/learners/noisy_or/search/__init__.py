"""Which causes there are: the one that gains most joins, and all strengths are fitted anew."""
