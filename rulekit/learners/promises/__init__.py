"""What a model must keep: a start, allowed changes, promises."""
