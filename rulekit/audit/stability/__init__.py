"""How a model changes when it is learned again from other rows of the same table."""
