"""Learners that follow a published paper to the letter, each with the parameters that its paper names."""
