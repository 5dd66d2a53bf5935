"""Changing a model by hand: edits, overrides, and probabilities fitted anew."""
