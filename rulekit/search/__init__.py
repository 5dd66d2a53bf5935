"""Find a row with a property, or prove that there is none."""
