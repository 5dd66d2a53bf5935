"""Values of a graph on rows: the slow oracle for one row, the numpy evaluator for tables."""
