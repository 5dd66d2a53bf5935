"""How far the error of a model may lie from the error that was counted on rows."""
