"""Audit: how well a model does, and where its threshold should lie."""

Said = tuple[str, str]
"""A word, "" for what stands under the line before, and a text."""
