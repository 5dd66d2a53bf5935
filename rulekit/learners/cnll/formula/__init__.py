"""A noisy-logical formula while it is learned: its tree, its objective and its statistics."""
