"""Columns of text: the tokens of each row as sets, in compressed sparse rows."""
