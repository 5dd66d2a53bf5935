"""Why each row is decided as it is: rules, conditions, points, the nearest change, and all of it in sentences."""
