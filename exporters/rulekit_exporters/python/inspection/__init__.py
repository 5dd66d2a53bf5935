"""What a generated module decides, read from its code (`reader.inspect`)."""
