"""What is learned, as models: decisions on rows of codes, and nodes of the graph."""
