"""CNLL: compositional noisy-logical learning (Yuille & Zheng, ICML 2009)."""
