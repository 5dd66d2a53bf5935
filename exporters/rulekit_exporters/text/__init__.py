"""The text target: the rule language, tables of rules, and the view for people (`show`)."""

from rulekit_exporters.text.target import TARGET
from rulekit_exporters.text.view import show

__all__ = ["TARGET", "show"]
