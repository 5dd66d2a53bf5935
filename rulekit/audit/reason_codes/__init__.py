"""Reason codes: which columns count in a decision, the catalogue that words them, and its lint from both sides."""
