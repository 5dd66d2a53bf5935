"""Noisy-add and noisy-parity: hidden bits of which the number, or whether it is odd, is the class."""
