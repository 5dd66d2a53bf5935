"""How large a model is: the sizes tried, their errors on held-out rows, the choice."""
