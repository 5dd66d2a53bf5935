"""The service of the tests here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import Running, running


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Running]:
    """On SQLite."""
    yield from running(tmp_path)
