"""Learners that follow a published method to the letter, each with the few parameters that its paper names."""
