"""What every learner needs around its algorithm: rows, classes, folds, sizes, provenance."""
