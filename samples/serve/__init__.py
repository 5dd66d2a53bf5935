"""Scoring exported models in a browser and in Node.js."""
