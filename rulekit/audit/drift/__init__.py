"""How the rows of today differ from those that trained a model: distributions, tests of them, and names for changes."""
