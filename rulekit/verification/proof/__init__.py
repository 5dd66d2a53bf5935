"""Proofs that an artifact decides as its graph, on cells, as formulas, or by a solver."""
