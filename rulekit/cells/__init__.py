"""Cells of a column: the values that some nodes tell apart, and one row of each."""
