"""From real weights to units whose every sum is exact, with weights that can be read, and to their nodes."""
