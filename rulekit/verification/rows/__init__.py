"""Rows that are made to show a difference between an artifact and its graph."""
