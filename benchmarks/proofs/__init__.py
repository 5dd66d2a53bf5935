"""Gates: every export decides alike in every runtime, faults are caught, the same model everywhere."""
