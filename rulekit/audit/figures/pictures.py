"""Figures of matplotlib as the same bytes on each call."""

from __future__ import annotations

import io
from typing import Any


def picture_bytes(figure: Any, ending: str) -> bytes:
    """A figure as png, svg or pdf, without time and random names."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    content = io.BytesIO()
    metadata: dict[str, Any] = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[ending]
    with rc_context({"svg.hashsalt": "rulekit"}):
        figure.savefig(content, format=ending, dpi=150, metadata=metadata)
    return content.getvalue()
