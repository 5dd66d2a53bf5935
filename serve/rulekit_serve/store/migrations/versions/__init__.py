"""One file a change, the first makes the tables."""
