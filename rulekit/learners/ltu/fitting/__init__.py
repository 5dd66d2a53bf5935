"""The default learner of trees of units: bounded loss from good starts, units refined together, few weights kept."""
