"""Whether a model is what it should be: searches, findings, promises and what is said of them."""
