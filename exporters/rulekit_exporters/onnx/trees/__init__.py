"""Graphs as one decision tree in one operator."""
