"""How two models differ: proved equal, or where they decide otherwise, which rules changed, and rows that show it."""
