"""The Python target: one readable module that needs the standard library only."""

from rulekit_exporters.python.target import TARGET

__all__ = ["TARGET"]
