"""Ways to fit a single unit to rows, each a `rulekit.learners.ltu.growing.Node`."""
