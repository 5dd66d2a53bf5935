"""Score cards: points of rules and columns, and their totals."""
