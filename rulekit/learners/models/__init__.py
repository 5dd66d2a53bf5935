"""What learners build models of: rule sets, additive sums, whole points."""
