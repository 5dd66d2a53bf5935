"""A report as JSON: the content of every section in full precision."""

from __future__ import annotations

import json

from rulekit.audit.report.document import Document


def json_text(document: Document) -> str:
    """The content as JSON text; the same for the same subject."""
    return json.dumps(document.data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
