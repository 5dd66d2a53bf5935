"""What runs in a bounded process ends, whatever it does."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from rulekit.errors import FormatError
from rulekit.verification.isolated import read_answer, run_bounded


def command(code: str) -> list[str]:
    return [sys.executable, "-I", "-c", code]


def test_it_runs_in_its_folder_without_the_users_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_USER", "x")
    run_bounded(command("import os; open('answer', 'w').write(' '.join(os.environ))"), tmp_path)
    assert b"SECRET" not in read_answer(tmp_path / "answer", 1000)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise ValueError('it went wrong')", "failed: ValueError: it went wrong"),
        ("import time; time.sleep(60)", "did not finish within 1 s"),
        ("import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'])", "did not finish"),
        ("x = bytearray(1 << 31)", "failed: MemoryError"),
        ("f = open('big', 'wb')\nf.truncate(1 << 40)", "failed"),
        ("files = [open('f', 'w') for _ in range(1000)]", "Too many open files"),
    ],
)
def test_what_goes_beyond_a_bound_is_a_reason(code: str, reason: str, tmp_path: Path) -> None:
    start = time.monotonic()
    with pytest.raises(FormatError, match=reason):
        run_bounded(command(code), tmp_path, seconds=1 if "finish" in reason else 20, memory=1 << 30)
    assert time.monotonic() - start < 20


def test_a_platform_without_limits_starts_the_command_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On Windows `exec` ended the first process at once, and every module left no answer."""
    monkeypatch.setattr("rulekit.verification.isolated.importlib.util.find_spec", lambda name: None)
    monkeypatch.delattr("os.killpg")
    run_bounded(command("open('answer', 'w').write('done')"), tmp_path)
    assert read_answer(tmp_path / "answer", 10) == b"done"
    with pytest.raises(FormatError, match="did not finish within 1 s"):
        run_bounded(command("import time; time.sleep(60)"), tmp_path, seconds=1)


def test_the_reason_is_what_was_said_of_it_and_commands_are_found_by_path(tmp_path: Path) -> None:
    """The last line of node is its version, that of others a place in code."""
    said = ["model.mjs:3", "  x.y", "  ^", "", "TypeError: x is undefined", "    at score (model.mjs:3:5)"]
    said += ["", "Node.js v20"]
    script = tmp_path / "fails.sh"
    script.write_text("\n".join([*(f"echo '{line}' >&2" for line in said), "exit 1"]))
    with pytest.raises(FormatError, match=r"failed: TypeError: x is undefined;"):
        run_bounded(["sh", str(script)], tmp_path)
    with pytest.raises(FormatError, match="nosuch"):
        run_bounded(["nosuch-command"], tmp_path)


def test_what_it_started_ends_with_it(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    child = f"import time; time.sleep(1); open({str(mark)!r}, 'w').close()"
    run_bounded(command(f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {child!r}])"), tmp_path)
    time.sleep(1.5)
    assert not mark.exists()


def test_an_answer_is_a_plain_file(tmp_path: Path) -> None:
    """A FIFO in its place hung the reader for ever."""
    answer = tmp_path / "answer"
    os.mkfifo(answer)
    with pytest.raises(FormatError, match="no file"):
        read_answer(answer, 10)
    answer.unlink()
    answer.symlink_to("/etc/hostname")
    with pytest.raises(FormatError, match="no answer"):
        read_answer(answer, 1000)
    answer.unlink()
    answer.write_bytes(bytes(11))
    with pytest.raises(FormatError, match="too long"):
        read_answer(answer, 10)
