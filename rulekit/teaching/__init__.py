"""Teachers: models that nobody can read, the rows that they are asked about, and what they answer."""
