"""The graph as straight-line steps, and what every text target shares to spell them."""
