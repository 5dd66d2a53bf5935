"""The noisy-or family: independence of causal influence, learned by EM and by coordinate descent."""
