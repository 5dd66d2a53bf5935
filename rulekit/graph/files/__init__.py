"""Model files: the JSON format, and safe reading and writing of any file."""
