"""What a model must keep: constraints, and rules to start from."""
