"""Conformance suites for export targets, nodes and learners, for this project's own and for those of others."""
