"""How large a model is: paths of sizes, held-out errors and losses, and the size that is taken."""
