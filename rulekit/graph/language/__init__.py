"""The rule language: printing, parsing, and the words and numbers that people read."""
