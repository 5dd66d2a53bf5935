"""Whole points for the terms of a sum, and the probability that a total stands for."""
