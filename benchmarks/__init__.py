"""Speed, memory and accuracy beside peers: `python -m benchmarks.run` runs them all."""
