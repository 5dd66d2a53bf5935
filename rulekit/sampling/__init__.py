"""Markov chain Monte Carlo: random walks that visit each state as often as its probability says."""
