"""Audit: how well a model does, and where its threshold should lie."""
