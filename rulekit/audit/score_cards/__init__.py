"""A sum as a score card: its lines by column, the points of a row, the table from total to probability."""
