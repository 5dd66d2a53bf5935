"""Time and memory: training, prediction, serving, reading, starting."""
