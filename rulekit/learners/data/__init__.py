"""The rows of a training table: binned codes, folds, classes and problems of two classes."""
