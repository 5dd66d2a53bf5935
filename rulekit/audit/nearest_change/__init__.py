"""The smallest change of a row that turns its decision."""
