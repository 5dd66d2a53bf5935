"""Scoring a row in the page: the steps of the model as JSON values, and the script that runs them."""
