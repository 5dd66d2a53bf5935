"""Feature grammars: sparse logistic regression over features that rules make from others (McDowell, gramression)."""
