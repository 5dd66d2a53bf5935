"""From raw columns to typed, encoded ones: kinds, classes, precision, encoding."""
