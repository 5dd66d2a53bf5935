"""What exported models cost to serve, beside an empty call, C, other converters and Python by hand."""
