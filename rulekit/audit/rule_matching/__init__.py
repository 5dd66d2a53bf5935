"""When two rules are the same rule: by the rows that they cover, or within a tolerance of their cuts."""
