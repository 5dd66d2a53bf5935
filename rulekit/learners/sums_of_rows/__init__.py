"""Integer sums over rows: histograms and the kernels that count them."""
