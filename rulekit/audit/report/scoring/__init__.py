"""Scoring a row in the page: the fields of the form and the module of the model, and the script that joins them."""
