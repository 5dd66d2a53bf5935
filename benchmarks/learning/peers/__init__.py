"""Other learners beside ours in one run: the same rows, a process and a CPU limit for each fit."""
