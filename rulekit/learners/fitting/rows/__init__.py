"""What is learned from: rows, classes and their weights, folds."""
