"""The text target: the rule language, tables of rules, and the view for people (`show`)."""

from rulekit.audit.view import show
from rulekit_exporters.text.target import TARGET

__all__ = ["TARGET", "show"]
