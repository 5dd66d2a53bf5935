"""The pages for users: what their fences hold, running it, and writing what is really printed back into them.

A page is README.md or a page below docs/. Its fences run in order in a folder of its own that holds the sample tables
and the loan model with its exports:

    ```console    lines that begin with `$ ` are commands, the others what they print; run where the first command is
                  a `rulekit` one
    ```python     run in one namespace a page, where `graph` is the loan model; a ```text fence that follows at once is
                  what it prints

A printed line `...` stands for any lines. Seconds, sizes, the baselines that time allowed, widths
of float noise and temporary names may vary.
Between `<!-- options COMMAND -->` and `<!-- end -->` stands the table of a subcommand's options, and likewise that of a
learner's parameters after `<!-- parameters NAME -->`. What many commands or learners share stands in one table, and the
others name it in a row: `<!-- options reading -->`, `<!-- parameters shared -->`.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import re
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from rulekit import load
from samples.commands import run_command, run_shell, within

ROOT = Path(__file__).parent.parent
_FENCE = re.compile(r"^```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_PARAMETERS = re.compile(r"(<!-- parameters ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_OPTIONS = re.compile(r"(<!-- options (\w+(?: \w+)?) -->\n).*?(<!-- end -->)", re.DOTALL)
_VARIES = (
    # the baselines that the time allowed, and on how many folds
    (re.compile(r"(?m)^(best single condition) .*$"), r"\1"),
    (re.compile(r"(?m)^(?:tree of depth 4|logistic regression|gradient boosting|no time for:) .*\n"), ""),
    (re.compile(r"\b\d+\.\d s\b"), "# s"),
    # the last of five or more figures after an error: the seconds of a learner that is tried
    (re.compile(r"(?m)(±\d+\.\d(?: +(?:\d+\.\d+|-)){5,}) +\d+\.\d$"), r"\1"),
    (re.compile(r"\b[\d.]+ (kB|bytes)\b"), "# kB"),
    (re.compile(r"within [\d.e-]+"), "within #"),
)
# Options that many commands share: the page that has their table, and their names.
SHARED_OPTIONS = {
    "reading": (
        "[reading a file](reading.md#options-for-a-file)",
        ("--delimiter", "--decimal", "--encoding", "--header", "--names", "--comment", "--quote", "--trim"),
    ),
    "columns": (
        "[meaning of columns](reading.md#options-for-columns)",
        ("--types", "--ignore", "--type", "--unit", "--role", "--unseen", "--missing", "--width"),
    ),
    "promises": (
        "[promises](check.md#declaring-a-promise)",
        ("--monotone", "--forbid", "--require", "--missing-never-helps"),
    ),
}
_VALUE_NAMES = {int: "N", float: "X", Path: "FILE", str: "TEXT"}


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block: its kind, its body, and where the body stands in the page."""

    kind: str
    body: str
    start: int

    @property
    def is_transcript(self) -> bool:
        """Whether it is run as commands."""
        return self.kind == "console" and self.body.startswith("$ rulekit")


@dataclass(frozen=True, slots=True)
class Difference:
    """A fence that does not hold what running it gives."""

    fence: Fence
    actual: str


@dataclass(frozen=True, slots=True)
class Option:
    """An argument or option of a subcommand: its names, its value's name, whether it may stand more than once."""

    names: tuple[str, ...]
    value: str
    many: bool
    help: str
    default: str


def page_paths() -> list[Path]:
    """README.md and every page below docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def fences(text: str) -> list[Fence]:
    """The fenced blocks of a page that name a kind, in order."""
    return [Fence(found["kind"], found["body"], found.start("body")) for found in _FENCE.finditer(text)]


def runs(text: str) -> bool:
    """Whether a page has anything to run."""
    return any(fence.is_transcript or fence.kind == "python" for fence in fences(text))


def prepare(folder: Path) -> None:
    """Put the sample tables and the loan model with its exports into a folder."""
    samples = ROOT / "samples"
    for source in (*samples.glob("*.csv"), *(samples / "exports" / "loans").iterdir()):
        if source.is_file():
            shutil.copy(source, folder)


def differences(text: str, folder: Path) -> Iterator[Difference]:
    """Run a page in a prepared folder; yields the fences that are not true."""
    found = fences(text)
    namespace: dict[str, Any] = {"__name__": "page"}
    if any(fence.kind == "python" for fence in found) and (folder / "model.json").exists():
        namespace["graph"] = load(folder / "model.json")
    for k, fence in enumerate(found):
        if fence.is_transcript:
            actual = transcript(fence.body, folder)
            if not alike(fence.body, actual):
                yield Difference(fence, actual)
        elif fence.kind == "python":
            printed = run_python(fence.body, namespace, folder)
            follower = found[k + 1] if k + 1 < len(found) else None
            gap = text[fence.start + len(fence.body) : follower.start] if follower else ""
            follows = follower is not None and follower.kind == "text" and gap.split() == ["```", "```text"]
            if follower is not None and follows and not alike(follower.body, printed):
                yield Difference(follower, printed)


def transcript(body: str, folder: Path) -> str:
    """The commands of a console block, each followed by what it prints now."""
    text = ""
    for line in commands(body):
        alone, _, cut = line.partition(" | head -")
        signs = {"|", "<", ">", "&&", ";", "2>"} & set(shlex.split(alone, posix=False))
        here = alone.startswith("rulekit ") and not signs and cut.isdigit() == (cut != "")
        ran = run_command(shlex.split(alone)[1:], folder) if here else run_shell(line, folder)
        printed = "".join(ran.text.splitlines(keepends=True)[: int(cut)]) if here and cut else ran.text
        text += f"$ {line}\n{printed}" + ("" if printed.endswith("\n") or not printed else "\n")
    return text


def commands(body: str) -> list[str]:
    """The command lines of a console block."""
    return [line[2:] for line in body.splitlines() if line.startswith("$ ")]


def run_python(source: str, namespace: dict[str, Any], folder: Path) -> str:
    """Run a block of a page, which is source of this project, and return what it prints."""
    printed = io.StringIO()
    with within(folder), importing_from(folder), contextlib.redirect_stdout(printed):
        exec(compile(source, "page", "exec", dont_inherit=True), namespace)
    return printed.getvalue()


@contextlib.contextmanager
def importing_from(folder: Path) -> Iterator[None]:
    """Modules of the folder can be imported, and are forgotten afterwards."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in [name for name, module in sys.modules.items() if _is_in(module, folder)]:
            del sys.modules[name]


def _is_in(module: Any, folder: Path) -> bool:
    return str(getattr(module, "__file__", None) or "").startswith(str(folder) + os.sep)


def alike(expected: str, actual: str) -> bool:
    """Whether two texts agree but for what varies from run to run; `...` on a line of its own is any lines."""
    pattern = r"(?:.*\n)*?".join(re.escape(part) for part in re.split(r"(?m)^\.\.\.\n", _steady(expected)))
    return re.fullmatch(pattern, _steady(actual)) is not None


def _steady(text: str) -> str:
    lines = "".join(line.rstrip() + "\n" for line in text.splitlines())
    for pattern, replacement in _VARIES:
        lines = pattern.sub(replacement, lines)
    return lines


@cache
def command_options() -> dict[str, list[Option]]:
    """The arguments and options of every subcommand, from the signatures of the functions that are the commands."""
    from rulekit_cli.main import app_for

    found = {}
    for target in (None, "onnx", "python", "sql", "text"):  # what a target brings stands under "export TARGET"
        for command in app_for(() if target is None else ("export", "--to", target)).registered_commands:
            options = [_option(name, hint, command.callback) for name, hint in _hints(command.callback)]
            if target is None:
                found[str(command.name)] = options
            elif command.name == "export" and len(options) > len(found["export"]):
                found[f"export {target}"] = options[len(found["export"]) :]
    return found


def _hints(function: Any) -> list[tuple[str, Any]]:
    hints = get_type_hints(function, include_extras=True)
    return [(name, hint) for name, hint in hints.items() if get_args(hint)]  # so neither a context nor what is returned


def _option(name: str, hint: Any, function: Any) -> Option:
    kind, info = get_args(hint)
    kinds = [part for part in get_args(kind) or (kind,) if part is not type(None)]
    many = get_origin(kind) is list or any(get_origin(part) is list for part in kinds)
    default = inspect.signature(function).parameters[name].default
    value = "" if kinds == [bool] else info.metavar or _VALUE_NAMES.get(kinds[0], "TEXT")
    if default is inspect.Parameter.empty:
        shown = "required"
    elif default is None or default is False:
        shown = ""
    else:
        shown = f"`{getattr(default, 'value', default)}`"
    # The first name stands where a default would, because the true default is that of the signature.
    decls = tuple(text for text in (info.default, *(info.param_decls or ())) if isinstance(text, str))
    return Option(decls or (name.upper(),), value if decls else "", many, info.help or "", shown)


def options_table(command: str) -> str:
    """The options of a subcommand as a table, or those of a shared group; groups that it shares are one row each."""
    rows = ["| option | | default |", "|---|---|---|"]
    if command in SHARED_OPTIONS:
        return "\n".join([*rows, *map(_option_row, shared_options(command))]) + "\n"
    options, last = command_options()[command], []
    for group, (link, _) in SHARED_OPTIONS.items():
        shared = [option for option in shared_options(group) if option in options]
        if shared and (group == "promises" or len(shared) == len(SHARED_OPTIONS[group][1])):
            options = [option for option in options if option not in shared]
            last.append(f"| {link}: {', '.join(f'`{option.names[0]}`' for option in shared)} | | |")
    return "\n".join([*rows, *map(_option_row, options), *last]) + "\n"


def shared_options(group: str) -> list[Option]:
    """The options of a shared group, as `train` declares them."""
    names = SHARED_OPTIONS[group][1]
    return [option for option in command_options()["train"] if option.names[0] in names]


def _option_row(option: Option) -> str:
    shown = ", ".join(f"`{name}`" for name in option.names)
    shown += (f" `{option.value}`" if option.value else "") + (" ..." if option.many else "")
    cells = (text.replace("|", "\\|") for text in (shown, option.help, option.default))
    return f"| {' | '.join(cells)} |".replace("  ", " ")


def with_options(text: str) -> str:
    """A page with the tables of options and of parameters made anew."""
    text = _PARAMETERS.sub(lambda found: found[1] + parameters_table(found[2]) + found[3], text)
    return _OPTIONS.sub(lambda found: found[1] + options_table(found[2]) + found[3], text)


def parameters_table(learner: str) -> str:
    """The parameters of a learner alone, and one row for those that it shares; of `shared` those of all learners."""
    from rulekit.learners.contract import find_learner

    lines, shared = ["| parameter | default | what | may be |", "|---|---|---|---|"], shared_parameters()
    if learner == "shared":
        return "\n".join([*lines, *(_parameter_row(name, what) for name, what in shared.items())]) + "\n"
    parameters = find_learner(learner).parameters
    for name, parameter in parameters.items():
        if name not in shared or _declared((name, shared[name])) != _declared((name, parameter)):
            lines.append(_parameter_row(name, parameter))
    lacking = ", ".join(f"`{name}`" for name in shared if name not in parameters)
    but = f" but {lacking}" if lacking else ""
    return "\n".join([*lines, f"| the [shared parameters](parameters.md){but} | | | |"]) + "\n"


@cache
def shared_parameters() -> dict[str, Any]:
    """The parameters that more than half of the learners declare alike, those without a group first."""
    from rulekit.learners.contract import find_learner, learner_names

    learners = [find_learner(name) for name in learner_names()]
    seen = Counter(_declared(parameter) for learner in learners for parameter in learner.parameters.items())
    found: dict[str, Any] = {}
    for learner in (find_learner("rules"), *learners):
        for name, parameter in learner.parameters.items():
            if 2 * seen[_declared((name, parameter))] > len(learners):
                found.setdefault(name, parameter)
    return dict(sorted(found.items(), key=lambda pair: pair[1].group))


def _declared(parameter: Any) -> tuple[str, ...]:
    name, what = parameter
    return name, repr(what.default), what.help, what.allowed.words


def _parameter_row(name: str, parameter: Any) -> str:
    words = ("None, or " if parameter.allowed.optional else "") + parameter.allowed.words
    shown = f"`{name}` in `{parameter.group}`" if parameter.group else f"`{name}`"
    return f"| {shown} | `{parameter.default!r}` | {parameter.help} | {words} |"


def refreshed(text: str) -> str:
    """A page with its tables of options and everything it prints made anew; what is still true stays as it stands."""
    import tempfile

    text = with_options(text)
    if not runs(text):
        return text
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        found = list(differences(text, Path(folder)))
    for difference in reversed(found):
        end = difference.fence.start + len(difference.fence.body)
        text = text[: difference.fence.start] + difference.actual + text[end:]
    return text


def refresh_pages() -> bool:
    """Write every page anew where it is not true; says which, and which could not be run. True if all were."""
    done = True
    for path in page_paths():
        before = path.read_text(encoding="utf-8")
        try:
            after = refreshed(before)
        except Exception as error:
            print(f"cannot run {path.relative_to(ROOT)}: {type(error).__name__}: {error}", file=sys.stderr)
            done = False
            continue
        if after != before:
            path.write_text(after, encoding="utf-8")
            print(f"refreshed {path.relative_to(ROOT)}")
    return done
