"""Export targets of rulekit: rule graph -> artifact, one folder per target."""
