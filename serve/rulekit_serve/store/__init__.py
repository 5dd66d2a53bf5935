"""What the service keeps: models, aliases and their history, decisions, uploads, jobs and tokens."""
