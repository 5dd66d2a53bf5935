"""Verification: adversarial rows, parity of artifacts with their graph, reports to ship beside an artifact."""
