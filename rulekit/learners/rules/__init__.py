"""The learner rules: at most eight conjunctions decide, and a score card predicts the probability."""
