"""Tables that come in blocks and are kept on disk."""
