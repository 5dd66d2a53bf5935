"""Discrete AdaBoost over single conditions."""
