"""A file's target is found by its ending, whatever other packages have registered."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint

import pytest

from rulekit import targets
from rulekit.errors import InputError
from rulekit.targets import find_target, find_target_for

LINES = {
    "missing": "export target missing (module nowhere): cannot be loaded from nowhere:TARGET: ModuleNotFoundError: ",
    "raises": "export target raises (module raising): cannot be loaded from raising:TARGET: ZeroDivisionError: ",
    "nothing": "export target nothing (module math): cannot be loaded from math:TARGET: AttributeError: ",
    "other": "export target other (module math): math:pi is no rulekit.targets.Target; mend or remove that package",
}


def test_a_target_is_found_by_the_ending_in_any_case():
    assert find_target_for("folder.py/model.ONNX").name == "onnx"
    assert find_target_for("model.py").name == "python"


@pytest.fixture
def broken(monkeypatch, tmp_path):
    """Installed exporters that cannot be loaded, before all others."""
    values = {"missing": "nowhere:TARGET", "raises": "raising:TARGET", "nothing": "math:TARGET", "other": "math:pi"}
    (tmp_path / "raising.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "raising", raising=False)
    found = targets.entry_points(group="rulekit.exporters")
    points = [*(EntryPoint(name, value, "rulekit.exporters") for name, value in values.items()), *found]
    monkeypatch.setattr(targets, "entry_points", lambda group: points)


@pytest.mark.usefixtures("broken")
def test_a_target_that_cannot_be_loaded_does_not_hide_the_others():
    assert find_target_for("model.onnx").name == "onnx"
    assert find_target("text").name == "text"


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("name", LINES)
def test_it_is_named_with_its_package(name):
    """It was an internal error of rulekit."""
    with pytest.raises(InputError) as caught:
        find_target(name)
    assert str(caught.value).startswith(LINES[name])
    with pytest.raises(InputError, match=r"no export target; .*export target missing .*; export target nothing"):
        find_target_for("model.strange")
