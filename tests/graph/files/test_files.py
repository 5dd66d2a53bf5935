"""Files: loading any model file, and writing so that nothing is lost or half written."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rulekit.errors import FormatError, InputError
from rulekit.graph.decisions import Fires
from rulekit.graph.files import model_files as files
from rulekit.graph.files import safe_files
from rulekit.graph.files.model_files import export, from_json, load
from rulekit.graph.files.safe_files import ensure_writable, write_all, write_atomically
from rulekit.graph.files.writing import to_json
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.nodes import Compare, Vocabulary
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.targets import Artifact, Target, option

GRAPH = RuleGraph(Schema((Feature("age"),)), ("no", "yes"), Fires(Compare("age", ">", 30.5)))


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@dataclass(frozen=True)
class Shape:
    shape: str = option("round", "round or square", ("round", "square"))


def target(**changes: Any) -> Target:
    """A target whose artifact is the model file and a note beside it."""

    def write(graph: RuleGraph, options: Any) -> Artifact:
        return Artifact({"": to_json(graph).encode(), ".note": b"note"}, graph.digest, warnings=("careful",))

    fields: dict[str, Any] = {
        "name": "sample",
        "description": "a sample",
        "suffixes": (".sample",),
        "write": write,
        "runs": (),
        "read": lambda data: from_json(data.decode()),
        "options": Shape,
    }
    return Target(**(fields | changes))


@pytest.fixture
def sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry with the sample target alone."""
    monkeypatch.setattr(files, "find_target", lambda name: target())

    def find(path: str) -> Target:
        if path.endswith(".sample"):
            return target()
        raise InputError("the ending of this file belongs to no export target", where=path)

    monkeypatch.setattr(files, "find_target_for", find)


# Loading


def test_a_saved_model_loads(tmp_path: Path) -> None:
    GRAPH.save(tmp_path / "model.json")

    assert load(tmp_path / "model.json") == load(str(tmp_path / "model.json")) == GRAPH
    assert names(tmp_path) == ["model.json"]
    (tmp_path / "model.json").write_bytes(b"\xef\xbb\xbf" + to_json(GRAPH).encode())  # a byte order mark
    assert load(tmp_path / "model.json") == GRAPH


@pytest.mark.parametrize("content", [b"", b"\x80\x81\xff", b"{", b"[]", b"null", b"{}", b"\x00" * 100, b"a,b\n1,2\n"])
def test_what_is_no_model_is_one_line_with_the_file_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(content)

    with pytest.raises(FormatError) as caught:
        load(path)

    assert str(caught.value).startswith(f"{path}: ")
    assert str(caught.value).count(str(path)) == 1
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder_are_input_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"model.json: cannot be read: no such file"):
        load(tmp_path / "model.json")
    with pytest.raises(InputError, match="is a directory"):
        load(tmp_path)
    with pytest.raises(InputError, match="null"):
        load("a\x00b.json")


def test_a_large_file_is_refused_before_it_is_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.json"
    with open(path, "wb") as file:
        file.truncate(safe_files.MAX_BYTES + 1)

    with pytest.raises(FormatError, match="larger than 256 MB"):
        load(path)


def test_a_graph_that_breaks_the_rules_of_composition_is_refused(tmp_path: Path) -> None:
    """The digest alone does not make a model legal: its column must exist."""
    wrong = RuleGraph(Schema((Feature("age"),)), (0, 1), Fires(Compare("height", ">", 1.0)))
    (tmp_path / "model.json").write_text(to_json(wrong))

    with pytest.raises(FormatError, match="height"):
        load(tmp_path / "model.json")


def test_an_edited_model_loads_only_unverified(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(to_json(GRAPH).replace("30.5", "31.5"))

    with pytest.raises(FormatError, match="rulekit import"):
        load(path)
    assert load(path, verify=False).nodes() == [Compare("age", ">", 31.5)]


@pytest.mark.usefixtures("sample")
def test_other_endings_go_to_the_target_that_has_them(tmp_path: Path) -> None:
    (tmp_path / "model.sample").write_bytes(to_json(GRAPH).encode())
    (tmp_path / "model").write_bytes(to_json(GRAPH).encode())
    (tmp_path / "table.csv").write_bytes(b"a,b\n")

    assert load(tmp_path / "model.sample") == GRAPH
    assert load(tmp_path / "model") == GRAPH
    with pytest.raises(InputError, match="belongs to no export target"):
        load(tmp_path / "table.csv")


@pytest.mark.usefixtures("sample")
def test_a_reader_that_fails_in_any_way_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(data: bytes) -> RuleGraph:
        raise KeyError("bits")

    (tmp_path / "model.sample").write_bytes(b"?")
    monkeypatch.setattr(files, "find_target_for", lambda path: target(read=read))
    with pytest.raises(FormatError, match=r"model.sample: no sample artifact of rulekit \(KeyError: 'bits'\)"):
        load(tmp_path / "model.sample")
    monkeypatch.setattr(files, "find_target_for", lambda path: target(read=None))
    with pytest.raises(FormatError, match="sample files do not carry the model; load the model file"):
        load(tmp_path / "model.sample")


def test_loading_a_model_imports_nothing_heavy(tmp_path: Path) -> None:
    GRAPH.save(tmp_path / "model.json")
    heavy = {"sympy", "onnx", "onnxruntime", "numba", "sklearn", "pandas", "polars", "lark", "jsonschema"}
    code = f"import sys, rulekit; rulekit.load({str(tmp_path / 'model.json')!r}); print({heavy} & set(sys.modules))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "set()"


# Writing


@pytest.mark.usefixtures("sample")
def test_export_writes_every_file_of_the_artifact(tmp_path: Path) -> None:
    artifact = export(GRAPH, tmp_path / "a.sample", "sample", shape="round")

    assert names(tmp_path) == ["a.sample", "a.sample.note"]
    assert artifact.warnings == ("careful",)
    assert (tmp_path / "a.sample").read_bytes() == artifact.main


@pytest.mark.usefixtures("sample")
def test_an_unknown_option_is_named_and_nothing_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no option 'colour'; options are shape"):
        export(GRAPH, tmp_path / "a.sample", "sample", colour="red")
    assert names(tmp_path) == []


FULL = OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("step", "fault", "raised", "said"),
    [
        ("fsync", FULL, InputError, r"model.json: cannot be written: no space left on device"),
        ("replace", FULL, InputError, r"model.json: cannot be written: no space left on device"),
        ("fsync", KeyboardInterrupt(), KeyboardInterrupt, None),
    ],
)
def test_a_failure_or_an_interrupt_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, fault: BaseException, raised: Any, said: Any
) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise fault

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(raised, match=said):
        write_atomically(path, b"new")

    assert (path.read_bytes(), names(tmp_path)) == (b"old", ["model.json"])


@pytest.mark.parametrize("failing", [1, 2, 3, 4])
@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("fault", [OSError(5, "Input/output error"), KeyboardInterrupt("input/output error")])
def test_several_files_are_all_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int, links: bool, fault: BaseException
) -> None:
    (tmp_path / "a").write_bytes(b"old a")
    (tmp_path / "c").write_bytes(b"old c")
    rename, calls = os.replace, iter(range(1, 100))

    def replace(source: str, to: str) -> None:
        if next(calls) == failing:
            raise fault
        rename(source, to)

    def no_link(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "replace", replace)
    if not links:
        monkeypatch.setattr(os, "link", no_link)
    new = {name: f"new {name}".encode() for name in "abc"}
    refused = pytest.raises((InputError, KeyboardInterrupt), match="input/output error")
    with refused if failing < 4 else contextlib.nullcontext():
        write_all({str(tmp_path / name): data for name, data in new.items()})

    left = {"a": b"old a", "c": b"old c"} if failing < 4 else new
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == left


def test_no_such_folder_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written: no such file or directory"):
        GRAPH.save(tmp_path / "nowhere" / "model.json")
    with pytest.raises(InputError, match="is a directory"):
        GRAPH.save(tmp_path)


def test_a_read_only_file_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(b"old")
    path.chmod(0o444)
    monkeypatch.setattr(os, "access", lambda *_: False)  # as for anybody but root

    with pytest.raises(InputError, match="read-only"):
        GRAPH.save(path)
    assert (path.read_bytes(), names(tmp_path)) == (b"old", ["model.json"])


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no full device")
def test_a_full_device_is_an_input_error() -> None:
    with pytest.raises(InputError, match="no space left on device"):
        GRAPH.save("/dev/full")


def test_a_pipe_or_device_gets_the_bytes() -> None:
    GRAPH.save(os.devnull)

    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_the_mode_of_the_old_file_and_a_link_to_it_are_kept(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link.symlink_to(real)

    GRAPH.save(link)

    assert link.is_symlink()
    assert load(real) == GRAPH
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_whether_a_file_can_be_written_is_known_before_long_work(tmp_path: Path) -> None:
    ensure_writable(tmp_path / "model.json")
    ensure_writable(os.devnull)

    with pytest.raises(InputError, match="this is a folder"):
        ensure_writable(tmp_path)
    with pytest.raises(InputError, match="its folder does not exist"):
        ensure_writable(tmp_path / "nowhere" / "model.json")
    assert names(tmp_path) == []


# Files of every version

GOLDEN = Path(__file__).parents[2] / "golden"


def test_a_model_file_and_a_rule_text_of_version_1_load_unchanged() -> None:
    """A change of the vocabulary, the digest or the format that this file does not survive needs a new version."""
    graph = load(GOLDEN / "model_version_1.json")

    assert graph.digest == "f6a46369919d56106f8b4c207dcdb583cd9c844984c7d80c054f9c4fb2f5ec59"
    assert to_json(graph) == (GOLDEN / "model_version_1.json").read_text(encoding="utf-8")
    assert {type(node) for node in graph.nodes()} == set(Vocabulary.TYPES.values())
    assert parse_graph((GOLDEN / "rules_version_1.txt").read_text(encoding="utf-8")) == graph


def test_temporary_files_of_killed_processes_are_removed_later(tmp_path):
    """They stayed for good after kill -9."""
    old, young, other = (tmp_path / f".rulekit-{name}" for name in ("0" * 16 + ".tmp", "1" * 16 + ".tmp", "notes.tmp"))
    for path in (old, young, other):
        path.write_bytes(b"x")
    for path in (old, other):
        os.utime(path, (0, 0))
    write_atomically(tmp_path / "m.json", b"{}")
    assert sorted(path.name for path in tmp_path.iterdir()) == [young.name, other.name, "m.json"]
