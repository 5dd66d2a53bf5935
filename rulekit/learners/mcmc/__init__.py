"""Rule sets drawn by a Metropolis-Hastings walk: how probable each is, given the rows."""
