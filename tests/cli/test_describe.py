"""rulekit describe: what is shown of every column, and the file of types that train reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Run


def test_types_that_were_written_train_the_same_schema(run: Run, table: Path) -> None:
    words = ("train", str(table), "--target", "label", "--param", "max_rules=1", "-q", "-o")
    assert run("describe", str(table), "--types-out", "types.toml").status == 0
    assert run(*words, "plain.json").status == run(*words, "typed.json", "--types", "types.toml").status == 0
    plain, typed = (json.loads(Path(name).read_text()) for name in ("plain.json", "typed.json"))
    assert typed["digest"] == plain["digest"]
    assert typed["schema"] == plain["schema"]

    text = Path("types.toml").read_text()
    Path("types.toml").write_text(
        text.replace('c = { kind = "categorical"', 'c = { kind = "categorical", role = "audit"')
    )
    assert run(*words, "typed.json", "--types", "types.toml", "--type", "d=categorical").status == 0
    columns = {column["name"]: column for column in json.loads(Path("typed.json").read_text())["schema"]["features"]}
    assert columns["c"]["role"] == "audit"
    assert columns["d"]["kind"] == "categorical"  # the option comes before the file


def test_every_column_and_level_is_shown_and_fits(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    names = [f"column_{i}" for i in range(45)] + ["a name that is longer than a column of a table may be"]
    rows = [",".join(f"level{(7 * i + j) % 11}" for j in range(46)) for i in range(44)]
    (tmp_path / "wide.csv").write_text("\n".join([",".join(names), *rows]) + "\n")
    short, full = run("describe", "wide.csv"), run("describe", "wide.csv", "--all")
    assert short.status == full.status == 0
    assert short.out.splitlines()[-1] == "and 6 more columns; --all shows them"
    assert all(name in full.out for name in names)
    assert full.out.count("level10 4") == 46
    assert "more" not in full.out
    assert max(map(len, (short.out + full.out).splitlines())) <= 80
    assert len(json.loads(run("describe", "wide.csv", "--json").out)["columns"]) == 46
