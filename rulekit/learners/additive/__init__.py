"""Additive rules: a short sum of weighted conjunctions."""
