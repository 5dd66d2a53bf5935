"""The sections of a report as data and blocks, a module each."""
