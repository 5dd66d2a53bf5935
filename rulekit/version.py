"""The version, and the name under which the package is installed."""

from __future__ import annotations

__version__ = "0.1.0"
DISTRIBUTION = "rulekit-portable"
"""The name on the package index, where an unrelated package bears the name of this module."""
