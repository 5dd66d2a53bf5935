"""Simplification: reachable cells, exact rewriting laws, and the passes that apply them."""
