"""Source 001 to the letter: J. Vomlel, Noisy-or classifier (2003), and the relatives of the noisy-or that it names."""
