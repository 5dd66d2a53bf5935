"""Strengths fitted to rows of cells: EM, coordinate descent, missing cells summed out, inhibitors."""
