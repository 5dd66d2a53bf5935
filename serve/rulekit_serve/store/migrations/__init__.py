"""Changes of the database; `rulekit serve --migrate` applies them."""
