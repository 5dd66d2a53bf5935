"""The options of all commands in one table, those that a target or a learner brings, and what commands get of them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from rulekit.errors import InputError

_DECLARED = """
# Files
MODEL (file required): A model file (.json), or an artifact that carries its rules.
MODEL as model.optional (file): A model file (.json), or an artifact that carries its rules.
MODEL as model.any (file required): A model (.json), or an artifact, which then does the scoring.
MODEL as model.folder (file required): A model file (.json), an artifact that carries its rules, or a folder of models.
MODEL as model.probability (file required): A two-class model (.json) that reports a probability.
DATA (file required): A CSV (also .gz), Parquet or JSON-lines file.
DATA as data.trained (file required): A CSV (also .gz), Parquet or JSON-lines file; with --engine Parquet, or a folder
  of it.
DATA as data.labelled (file required): Labelled rows.
DATA as data.further (file required): Labelled rows; not those that trained the model.
DATA as data.today (file required): A CSV (also .gz), Parquet or JSON-lines file; with --counts, counts.
DATA as data.lint (file): A table: how often each reason is given, and rows without one.
DATA as data.bound (file): Labelled rows: held-out ones, or those that trained the model.
DATA as data.report (file): Labelled rows to measure it on: CSV (also .gz), Parquet or JSON lines.
SOURCE (file required): A rule text (.txt, .rules), an edited .json, an artifact with its rules, or a forest (.onnx).
LOG (file required): Recorded decisions, one JSON object a line (also .gz).
A as first (file required): A model file (.json), rule text or artifact: the old one.
B as second (file required): The new one.
[MODEL] ARTIFACT as files (files required): The model file and the exported file; --against: the latter.
--data as data.compared (file): A table whose rows are compared as well.
--data as data.both (file): A table: both decide its rows.
--data FILE as data.changed (file): Rows, with labels or without: which labels change.
--data FILE as data.edited (file): Rows: with --base what changes on them, else the names of a forest's columns.
-o, --output (file required): The model file to write (.json).
-o, --output as output.optional (file): The model file to write (.json).
-o, --output as output.artifact (file required): The file to write.
-o, --output as output.scores (file): CSV to write; standard output without it.
-o, --output as output.catalogue (file): Write a catalogue to start from (.toml).
-o, --output FILE as output.explained (file): Write the explanations of all rows to this file; as JSON with --json.
-o, --output FILE as output.drift (file): Write the result as JSON there.
-o, --output FILE as output.others (file): Write all decisions that would change as CSV there.
-o, --output FILE as output.figures (file): Write the figures (JSON) here.
-o, --output FILE as output.taken (file): That model (.json).
-o, --output FILE as outputs (files): The file to write, repeatable: report.html, report.json, report.md.
--folder (file): Keep the files here; a temporary folder without it.
--types-out FILE (file): Write the types of the columns, to be edited, for --types.
--picture FILE (file): Draw the walks and the rules (.png, .svg, .pdf).

# How a text file is written
--delimiter (text): Cell separator, or blanks for runs of them; detected by default.
--decimal (text): Decimal mark, a point or a comma; detected by default.
--encoding (text): Encoding of the file; detected by default.
--header LINE (text): Line of the header (3), its lines (1-3), or none; 1 by default.
--names A,B,C (list): Names of the columns, instead of the header's.
--comment TEXT (texts): Leave out lines that begin with TEXT: a comment, a total.
--quote SIGN (text): The sign around cells, " by default, or none.
--trim (flag): Remove the blanks around cells; otherwise they are part of the cell.

# Columns of a table
--target COL (text required): The label column.
--target COL as target.taught (text): The label column; with a teacher it may be left out.
--target COL as target.own (text): The label column; the model's by default.
--positive LABEL (text): The positive one of two classes; by default the rarer one.
--ordered A,B,C (list): The classes are ranks, from low to high.
--label-separator SIGN (text): The sign between the labels of a cell, if cells hold several labels; each label gets a
  model.
--missing-target HOW (text = error): Rows without a label: error, or drop to leave them out.
--weight COL (text): Column of row weights.
--group COL (text): Rows of one group stay together in every split.
--time COL (text): The column with the time of each row, which no rule reads: --holdout takes the last rows, and each
  fold is a block of time. rows: the order of the file.
--time COL as time.shown (text): Also show the error by blocks of this column of time.
--cost FP:FN (text): Cost of a false positive and of a false negative.
--types FILE as types_file (file): The kinds of the columns, from a file that rulekit describe wrote.
--types FILE as types_file.labels (file): A file of types: what means a missing label or weight.
--type COL=KIND as types (pairs): The kind of COL: numeric, categorical, boolean, text, date, datetime, money, or
  ordered:low,mid,high. A sample cell shows how numbers or dates are written: numeric:1.234,50 EUR, date:31-Dec-99.
--unit COL=UNIT as units (pairs): The unit of the numbers of COL: EUR, %, years.
--role COL=ROLE as roles (pairs): use; audit: reports read COL, rules do not; forbidden: no rule reads COL.
--unseen COL=HOW (pairs): How to read a level of COL that training never saw: unseen, missing or error.
--missing [COL=]TOKEN (texts): A cell text that means missing, in all columns or in COL.
--missing TOKEN as missing.label (texts): A text that means a missing label or weight.
--width COL=float64 as precision (pairs): Compare the numbers of a column in this width.
--ignore COL (texts): Leave this column out.
--by COL (texts): Also measure each group of the rows by this column.
--by COL as by.flips (texts): Count by the values of COL of the table, which no model need read.

# Training
--learner (text = rules): The learner; `--learner NAME --help` lists its parameters.
--learners A,B (names): These, not all.
--folds N (integer 2.. = 5): Folds, the same for all learners.
--report rules|all|rates (text): What predicts the probability: a score card over the columns of the rules (default),
  one over all columns, or a rate for each rule.
--param K=V (texts): A parameter of the learner, for example max_rules=4.
--param K=V as param.walk (texts): Of the learner mcmc: likelihood, n_literals, price, n_chains.
--smallest (flag): Take the smallest model within one standard error of the best one.
--size N (integer 1..): Take this row of the ladder: at most N rules (units) for each class.
--no-baselines as baselines (off): Do not measure the well-known models above the ladder.
--curve FILE as curves (files): Write the error of each size, as a table (curve.csv) or a picture (curve.png).
--curve FILE as curves.thresholds (files): Write precision and recall against the threshold, one for all labels:
  curve.csv, or drawn curve.png.
--start MODEL_OR_RULES (file): Start from these rules: a model, or a rule text.
--freeze IDS (text): Rules of --start that stay as they are: all (default), none, ids.
--overrides FILE (file): Overrides, which take precedence over the learned rules: a model, a rule text or TOML; by
  default those of --start.
--date YYYY-MM-DD as date.kept (text): Leave out overrides that expired before this date; today by default.
--teacher MODEL (file): Take the labels that this model gives, an ONNX file or a rulekit model, as those to learn.
--teacher MODEL as teacher.beside (file): Compare with the labels of this model, an ONNX file or a rulekit model.
--teacher-column COL (text): A column instead of a model: labels, probabilities, or scores with --teacher-cut.
--teacher-cut X (number): The teacher decides the positive class from this score on.
--teacher-classes A,B (list): The names of the classes, in the order of the teacher's outputs.
--ask N (integer 1..): Make N rows for the teacher, where the rules are least sure.
--ask-out FILE as asked_rows (file): Write the made rows there, as CSV.
--test FILE (file): Measure on this file.
--holdout (number 0.01..0.9): Keep this share of the rows out of training, and measure on it.
--holdout-out FILE as held_rows (file): Write the held-out rows to this file, in the format of the data.
--memory SIZE (text): Learn from a file larger than this much memory: 500MB, 2GB.
--engine dask|dask://HOST (text): Train on workers of Dask: dask starts some on this machine, dask://HOST:PORT uses
  those of a cluster. The data are Parquet.
--monotone COL=WAY (pairs): As COL grows, the decision only changes to the positive class (increasing), or only away
  from it (decreasing).
--forbid COLS (texts): No rule reads two of these columns: age,sex.
--require RULE (texts): A rule that always decides where it holds: "amount > 9000 -> yes".
--missing-never-helps (flag): A missing value or a new level satisfies no rule.
--no-simplify as simplified (off): Save the rules as learned, not simplified.
--seed (integer 0..4294967295 = 0): Seed of every random choice.
--rules N as rules.most (integer 0..): The largest row with at most N rules a class.
--size N as size.row (integer 0..): The row of size N.
--smallest as smallest.row (flag): The smallest row within one standard error of the best.

# Reading and questioning
--format HOW (text = rules): rules (for people), table, csv, c50, language (the rule text) or json.
--row N as rows.explained (numbers): Explain this row, or rows 1,7; row 1 is the first below the header.
--id COL=VALUE as ids (pairs): Explain the rows with this value in COL, such as an id.
--immutable COL (names): This column, or age,sex, must stay as it is.
--direction COL=up|down as directions (pairs): This column may only rise (up), or only fall (down).
--to CLASS as to.wanted (text): The decision that the change must reach; by default any other class.
--catalogue FILE (file): Reasons for adverse decisions (.toml).
--adverse CLASS (names): The class whose decisions need reasons; by default the negative one of two.
--most N (integer 1.. = 4): The largest number of reasons for a row.
--sentence TEXT (text): Instead of a model: print the limit of the truth of this sentence.
--graph R (texts): In the sentence, R is symmetric and never links an object to itself.
--resamples N (integer 2.. = 20): How many halves of the table are learned from.
--label (text): The class of the rules; by default the positive or last one.
--steps N (integer 100..1000000000 = 20000): How many steps each walk takes.
--take N (integer 1..): Write rule set number N as a model.
--training as trained (flag): DATA trained the model, whatever its hashes of rows say.
--delta X (number = 0.05): One minus the confidence of each bound.
--epsilon X (number = 0.05): Say how many rows an error of X needs.
--title (text): The title of the report.
--purpose (text): What the model is for, in the words of its author.
--author as author.report (text): Who answers for the report.
--date as date.report (text): The date of the report; never taken from the clock.
--verification FILE as verifications (files): A report that rulekit verify --report wrote.
--artifact FILE as artifacts (files): An artifact of the model, which is verified now.
--stability FILE (files): What rulekit stability -o wrote.
--comparison FILE (files): What rulekit compare --json wrote.
--drift FILE (files): What rulekit monitor --json wrote.

# Changing
--precision as least_precision (number): At least this precision.
--recall (number): At least this recall.
--f1 (flag): Largest F1 of the positive class.
--at T (number): This threshold: yes above T.
RULE as rules (texts): Each such as "amount > 9000 -> yes".
--author NAME (text): Who answers for it.
--reason TEXT (text): Why.
--date YYYY-MM-DD (text): From when; never taken from the clock.
--expires YYYY-MM-DD (text): The last day on which it is meant to decide.
--id ID (text): Its name; o1, o2, ... by default.
--first as first.all (flag): Let it win over all existing overrides.
--from FILE as written (file): Overrides of a TOML file, each signed there.
--remove ID (texts): Take this override off; signed likewise.
--list as listing (flag): List the overrides of the model, and change nothing.
--base MODEL (file): The model (.json) whose rules were edited.
--author NAME as author.edit (text): Who edited, for the record.
--reason TEXT as reason.edit (text): Why, for the record.
--explain as explain.laws (flag): Say which law changed what.

# Using
--explain (flag): Also which rules and conditions did it.
--keep COL (texts): Copy this column of DATA, an id for example.
--escape-formulas (flag): Put ' before text that a spreadsheet would run as a formula.
--fail-on WHAT (text): Exit status 1 if: any, columns, rules, classes, psi=0.25 (one is above); several with commas.
--model B as model.replayed (file required): The other model: a model file (.json), or an artifact with its rules.
--examples N (integer 0.. = 10): Show this many of the decisions that change.
--counts (flag): DATA holds counts of rules that an SQL or Python export made.
--to TARGET (text required): javascript, onnx, python, sql, text, or one installed.
--rows (integer 0..): How many rows to make, beside every cut; 20,000 by default.
--seed as seed.rows (integer 0..): Seed of the rows that are made; 0 by default.
--report as report.parity (file): Write the report (JSON) here.
--against REPORT (file): Repeat the verification of this report.
--require as require.proof (proof): Fail unless decisions, or probabilities too, are proved equal.
--key (file): A file of secret bytes: signs the report, or checks its signature.
--run-untrusted (flag): Also run an artifact that the exporter does not write like this.

# The service
[MODEL]... as models (files): Serve these models under the names of their files; each is champion once it is proved.
--folder DIR as folder.service (file): Keep uploads, reports and, without --database, all else here; rulekit-data by
  default.
--database URL (text): sqlite:///FILE or postgresql://USER@HOST/NAME; a SQLite file in the folder by default.
--host ADDRESS (text = 127.0.0.1): Listen on this address; another one than this machine's own needs TLS or a proxy.
--port (integer 1..65535 = 8080): Listen on this port.
--processes N (integer 1..64 = 1): How many processes serve on one database.
--certificate FILE (file): The TLS certificate (PEM).
--key FILE as key.tls (file): The key of the certificate (PEM).
--behind-proxy (flag): A proxy ends TLS and passes the calls on.
--mask COL (texts): Never store the cells of this column.
--max-rows N (integer 1..1000000 = 10000): The most rows of a call.
--max-body MB (integer 1..1024 = 16): The most megabytes of a call.
--max-upload MB (integer 1..65536 = 2048): The most megabytes of an uploaded table.
--call-seconds N (number 1..3600 = 30.0): The most seconds of a call.
--max-flips X (number 0.0..1.0 = 0.05): A new champion may decide at most this share of rows otherwise than the old one.
--max-worse X (number 0.0..100.0 = 1.0): The balanced accuracy of a new champion may be this many points lower.
--jobs N (integer 0..64 = 2): The largest number of jobs that run at the same time.
--rate N (number 0.. = 0.0): The most calls a second of one token; 0 for no limit.
--new-token NAME (text): Make a token of this name, print it, and stop.
--roles A,B as roles.token (names): Roles of the new token: score, audit, train, promote; all by default.
--migrate (flag): Bring the database to this version of rulekit, and stop.

# Time, and what is printed
--time-limit SECONDS (number 0..): Stop after this time and keep the best model so far.
--time-limit SECONDS as time_limit.models (number 0..): Stop after this time and keep the models so far.
--time-limit SECONDS as time_limit.steps (number 0..): Stop after this time and keep the steps so far.
--time-limit SECONDS as time_limit.all (number 0.. = 180.0): Stop all learners after this time together.
--time-limit SECONDS as time_limit.search (number 0.. = 60.0): Stop the search after this time; what it has not decided
  stays open.
--time-limit SECONDS as time_limit.fit (number 0.. = 60.0): Stop fitting after this time and take the best so far.
--all as everything.columns (flag): Every column and every level, however many there are.
--all as everything.levels (flag): Also show every level, and the conditions behind probabilities.
--all as everything.pairs (flag): List each rule and each pair of rules.
--all as everything.regions (flag): Every region, rule and parameter.
--all as everything.again (flag): Every condition and every rule that comes again.
--json (flag): Print the result as JSON.
-q, --quiet (flag): Print no notes and no progress.
"""
"""An option a line: how it is written, by which name commands take it where that is another one (a point and what
follows tell options of one name apart), its kind, range and default, and its help."""

_LINE = re.compile(r"(?P<written>.+?)(?: as (?P<key>\S+))? \((?P<kind>\w+)(?P<needed> required)?(?P<range> \S+\.\.\S*)?"
                   r"(?: = (?P<default>\S+))?\): (?P<help>.*)")  # fmt: skip


class Require(StrEnum):
    """What must be proved for exit status 0."""

    proof = "proof"
    probabilities = "proof-of-probabilities"


_KINDS: dict[str, Any] = {
    **{"text": str, "list": str, "texts": list[str], "names": list[str], "numbers": list[str], "pairs": list[str]},
    **{"flag": bool, "off": bool, "file": Path, "files": list[Path], "integer": int, "number": float, "proof": Require},
}


@dataclass(frozen=True, slots=True)
class Declared:
    """An option, or an argument, as typer takes it, under the name by which a command takes its value."""

    name: str
    kind: str
    written: str
    parameter: inspect.Parameter

    def read(self, value: Any) -> Any:
        """What a command gets of a value: items of a list, of several with commas between them, NAME=VALUE by name."""
        if self.kind == "list":
            return tuple(map(str.strip, value.split(",")))
        if self.kind in ("names", "numbers"):
            parts = [part.strip() for item in value for part in item.split(",") if part.strip()]
            return parts if self.kind == "names" else list(map(self._number, parts))
        if self.kind == "pairs":
            return dict(self._pair(item) for item in value)
        if self.kind == "off":
            return not value
        return tuple(value) if isinstance(value, list) else value

    def _number(self, text: str) -> int:
        if not text.isdecimal():
            raise InputError(f"{text!r} is no whole number", where=self.written.split()[0], fix="write 1 or more")
        return int(text)

    def _pair(self, item: str) -> tuple[str, str]:
        name, equals, text = item.rpartition("=")  # a name may hold `=`, its value may not
        if not equals or not name:
            flag, metavar = self.written.split()
            raise InputError(f"{item!r} is not {metavar}", where=flag)
        return name, text


def _declared(line: str) -> tuple[str, Declared]:
    found = _LINE.fullmatch(line)
    assert found is not None, line
    words, kind, default = found["written"].split(), found["kind"], found["default"]
    flags = [word.rstrip(",") for word in words if word.startswith("-")]
    metavar = " ".join(word for word in words if not word.startswith("-")) or None
    key = found["key"] or (flags[-1].lstrip("-").replace("-", "_") if flags else words[0].lower())
    name, of = key.partition(".")[0], _KINDS[kind]
    value: Any = inspect.Parameter.empty if found["needed"] else False if of is bool else None
    if default is not None:
        value = of(default)
    least, _, most = (found["range"] or "").strip().partition("..")
    limits: dict[str, Any] = {
        side: float(text) if "." in text else int(text) for side, text in (("min", least), ("max", most)) if text
    }
    shown = None if not flags and name.upper() == metavar else metavar
    info = (typer.Option if flags else typer.Argument)(*flags, metavar=shown, help=found["help"], **limits)
    annotation: Any = Annotated[of | None if value is None else of, info]
    how = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value, annotation=annotation)
    return key, Declared(name, kind, found["written"], how)


_TABLE = dict(map(_declared, re.findall(r"(?m)^(?!#).+", re.sub(r"\n  ", " ", _DECLARED))))
_GROUPS = {
    "text_file": "delimiter decimal encoding header names comment quote trim",
    "columns": "ignore types_file types units roles unseen missing precision ordered monotone forbid require "
    "missing_never_helps weight group time cost",
}
PROMISES = ("monotone", "forbid", "require", "missing_never_helps", "report")
"""The parameters of a learner that have an option."""

Command = Callable[..., None]


def command(keys: str, further: Iterable[inspect.Parameter] = ()) -> Callable[[Command], Command]:
    """A function as a command with these options of the table, in this order, which gets those that are given by name.

    What says how a table is read comes as one, `reading`; further: parameters that the function takes as well.
    """
    own = [_TABLE[key] for word in keys.split() for key in _GROUPS.get(word, word).split() if word != "context"]
    known = {each.name: each for each in own}

    def made(function: Command) -> Command:
        @wraps(function)
        def extended(**values: Any) -> None:
            given = {name: value for name, value in values.items() if value is not None and value != []}
            given |= {name: known[name].read(value) for name, value in given.items() if name in known}
            function(**(_with_reading(given) if "text_file" in keys else given))

        begun = [_CONTEXT] if keys.startswith("context") else []
        parameters = [*begun, *(each.parameter for each in own), *further]
        extended.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        extended.__annotations__ = {each.name: each.annotation for each in parameters}
        return extended

    return made


_CONTEXT = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)


def _with_reading(given: dict[str, Any]) -> dict[str, Any]:
    from rulekit.tables.options import ReadingOptions, read_types

    known = {item.name for item in fields(ReadingOptions)}
    reading = ReadingOptions(**{name: value for name, value in given.items() if name in known})
    if "types_file" in given:  # what it declares stands behind the options
        reading = reading.over(read_types(given["types_file"]))
    return {"reading": reading} | {n: v for n, v in given.items() if n not in known and n != "types_file"}


def named(arguments: Sequence[str], flag: str) -> str | None:
    """The value of a flag on a command line that is not parsed yet."""
    for number, word in enumerate(arguments):
        if word == flag:
            return next(iter(arguments[number + 1 :]), None)
        if word.startswith(f"{flag}="):
            return word.removeprefix(f"{flag}=")
    return None


def flag_of(choice: Any) -> inspect.Parameter:
    """The parameter for a field of a target's options; one that is on by default is turned off by --no-NAME."""
    word, said, default = choice.name.replace("_", "-"), choice.metadata["help"], choice.default
    allowed = choice.metadata.get("allowed", ())
    if not all(str(value) in said for value in allowed):
        said += f": {', '.join(map(str, allowed))}"
    kind: Any = bool if isinstance(default, bool) else int if isinstance(default, int) else str
    beside = "" if kind is bool or default in (None, "") else f"; {default} by default"
    flag = f"--{word}/--no-{word}" if default is True else f"--{word}"
    annotation: Any = Annotated[kind | None, typer.Option(flag, help=f"{said}{beside}.", show_default=False)]
    return inspect.Parameter(choice.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def with_parameters(command: Command, learner: str) -> Command:
    """The command whose help lists the parameters of a learner; raises InputError for one that is not installed."""
    from rulekit.work.learning import parameters

    found = {f"{item.name}={item.default}": item.help for item in parameters(learner)}
    column = max(map(len, found), default=0) + 2
    described = wraps(command)(lambda **values: command(**values))
    head = f"    \b\n    Parameters of {learner}, with their defaults; --param NAME=VALUE sets one:"
    described.__doc__ = "\n".join([f"{command.__doc__}", head, *(f"      {n:{column}}{h}" for n, h in found.items())])
    return described
