"""Plain disjunctive normal forms: the local search over clauses."""
