"""The exact probability of random formulas as straight-line circuits, and the Boolean functions behind it."""
