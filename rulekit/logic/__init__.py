"""Boolean forms over cells: their exact numbers, their meaning and what satisfies them."""
