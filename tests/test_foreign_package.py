"""An unrelated package of the index writes into the same folder: it is noticed in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rulekit
from rulekit.errors import RulekitError


def test_a_foreign_package_beside_this_one_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rulekit.foreign_files() == ""
    monkeypatch.setattr(rulekit, "__file__", str(tmp_path / "rulekit" / "__init__.py"))
    (tmp_path / "rulekit_portable-0.1.0.dist-info").mkdir()
    assert rulekit.foreign_files() == ""
    (tmp_path / "rulekit-1.2.3.dist-info").mkdir()
    assert "pip uninstall rulekit, then pip install --force-reinstall rulekit-portable" in rulekit.foreign_files()


@pytest.mark.parametrize("content", ["__version__ = '9'\n", None])
def test_the_command_notices_that_its_package_was_replaced_or_removed(content: str | None, tmp_path: Path) -> None:
    """Installing the other package replaced `__init__.py`, uninstalling it removed the file, both in silence."""
    folder = tmp_path / "rulekit"
    folder.mkdir()
    if content is not None:
        (folder / "__init__.py").write_text(content)
    cli = Path(rulekit.__file__).parents[1] / "cli"
    program = f"import sys; sys.path[:0] = {[str(tmp_path), str(cli)]}; from rulekit_cli.entry import main; main()"
    command = [sys.executable, "-S", "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env={"PATH": os.environ["PATH"]})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "rulekit: files of rulekit-portable are missing, or an unrelated package named rulekit"
    )


def test_a_package_that_is_not_installed_is_named() -> None:
    """It was an internal error, "No module named 'onnx'"."""
    from rulekit_cli.console import describe

    missing = ModuleNotFoundError("No module named 'sklearn.tree'", name="sklearn.tree")
    assert describe(missing) == (
        "this needs the package scikit-learn, which is not installed; pip install scikit-learn"
    )
    assert describe(ModuleNotFoundError("no", name="nonsense")).startswith("internal error")
    assert describe(RulekitError("x")) == "x"
