"""How well a model does: figures, curves, and well-known models beside it."""
