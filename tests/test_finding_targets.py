"""A file's target is found by its ending, whatever other packages have registered."""

from __future__ import annotations

import pytest

from rulekit import targets
from rulekit.errors import InputError
from rulekit.targets import find_target, find_target_for


def test_a_target_is_found_by_the_ending_in_any_case():
    assert find_target_for("folder.py/model.ONNX").name == "onnx"
    assert find_target_for("model.py").name == "python"


@pytest.fixture
def broken(monkeypatch):
    """An installed exporter whose module cannot be imported, the first in the alphabet."""

    def find(name):
        if name == "broken":
            raise ImportError("No module named 'missing_dependency'")
        return find_target(name)

    monkeypatch.setattr(targets, "find_target", find)
    monkeypatch.setattr(targets, "target_names", lambda: ["broken", "onnx", "python", "text"])


@pytest.mark.usefixtures("broken")
def test_a_target_that_cannot_be_loaded_does_not_hide_the_others():
    assert find_target_for("model.onnx").name == "onnx"


@pytest.mark.usefixtures("broken")
def test_it_is_named_where_no_other_has_the_ending():
    with pytest.raises(InputError, match=r"no export target; the target broken .*missing_dependency"):
        find_target_for("model.strange")
