"""The rule graph: vocabulary, traversal, evaluation, exact probability, checks, file format, rule language."""
