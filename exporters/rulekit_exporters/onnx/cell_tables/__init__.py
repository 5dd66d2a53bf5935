"""Graphs as tables over the cells of their columns."""
