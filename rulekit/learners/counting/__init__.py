"""Counting kernels: histograms of integer weights, on several threads, with or without numba."""
