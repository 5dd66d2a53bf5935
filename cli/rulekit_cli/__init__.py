"""The `rulekit` command, one file per subcommand."""
