"""Small inputs, the models trained on them, their exports, and the scripts that make them."""
