"""The search for the next step of a formula, and the refits between steps."""
