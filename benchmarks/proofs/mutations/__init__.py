"""Single faults put into exported artifacts, and whether `rulekit verify` catches them."""
