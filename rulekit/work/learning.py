"""Learners by name: their parameters from text, and a fitted one, with all that the rest of the house asks of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rulekit.errors import InputError
from rulekit.learners.contract import find_learner, refuse_unable
from rulekit.learners.parameters import Parameter, check_parameters, value_for
from rulekit.names import near_names
from rulekit.tables.options import ReadingOptions
from rulekit.work.choices import OPTIONS, DeclaredOption

if TYPE_CHECKING:
    from rulekit.learners.sizes.path import ModelPath
    from rulekit.tables.labels import LabelledTable
    from rulekit.work.kept import GivenStart


@dataclass(frozen=True, slots=True)
class TrainingRequest:
    """What to learn from which table.

    reading: how the table is read, the target column among it. parameters: of the learner, by name. smallest: take the
    smallest model that is not worse than the best one. size: take this row of the ladder. baselines: measure well-known
    models on the same folds as well. start, freeze: rules to go on from, and which of them stay. overrides: a file
    whose overrides win over what is learned, in the place of those of `start`; what expired before `date`, an ISO date,
    today by default, is left out.
    test, holdout: another file, or a share of the rows, on which the model is measured; without either the training
    rows. held_rows: write the rows that are held out there. memory: learn from a file larger than this ("500MB").
    output, curves: files to write.
    """

    data: Path
    reading: ReadingOptions
    learner: str = "rules"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    smallest: bool = False
    size: int | None = None
    baselines: bool = False
    start: Path | None = None
    freeze: str | None = None
    overrides: Path | None = None
    date: str | None = None
    test: Path | None = None
    holdout: float | None = None
    held_rows: Path | None = None
    time_limit: float | None = None
    memory: str | None = None
    simplified: bool = True
    seed: int = 0
    output: Path | None = None
    curves: tuple[Path, ...] = ()


def parameters(learner: str) -> tuple[Parameter, ...]:
    """The parameters that `--param` sets; raises InputError for a learner that there is not."""
    found = find_learner(learner).parameters
    return tuple(parameter for name, parameter in found.items() if name not in OPTIONS)


def choices_of_learner(learner: str) -> tuple[DeclaredOption, ...]:
    """The parameters of a learner that `--param` sets; raises InputError for one that is not installed."""
    return tuple(DeclaredOption(item.name, item.default, item.help) for item in parameters(learner))


def parse_parameters(learner: str, items: Sequence[str]) -> dict[str, Any]:
    """K=V texts as values by name.

    Raises InputError for a value that is not allowed and, with the nearest name, for a parameter that there is not.
    """
    known = {parameter.name: parameter for parameter in parameters(learner)}
    values: dict[str, Any] = {}
    for item in items:
        name, equals, text = item.partition("=")
        if not equals:
            raise InputError(f"{item!r} is not K=V", where="--param")
        if name in OPTIONS:
            raise InputError(f"{name} is no --param", fix=f"use {OPTIONS[name] or 'another parameter'}")
        if name not in known:
            near = near_names(name, known)
            fix = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(known)}"
            raise InputError(f"{learner} has no parameter {name!r}", where="--param", fix=fix)
        values[name] = value_for(known[name], text)
    check_parameters("--param", values, {name: known[name] for name in values})
    return values


def fitted(
    learner: str,
    parameters: Mapping[str, Any],
    rows: LabelledTable,
    *,
    seed: int,
    time_limit: float | None,
    memory: str | None,
    start: GivenStart | None,
    callback: Callable[[Any, Mapping[str, Any]], object],
) -> Any:
    """The learner with these parameters, fitted on labelled rows in memory or, with `memory`, on disk.

    Its rules have no statistics yet, since they may be simplified. The callback is given the learner, and its step.
    """
    options = dict(parameters)
    if rows.ordered:
        options["ordered"] = rows.classes
    if start is not None:
        options |= {"start": start.graph.underlying, "freeze": start.freeze}
    if memory is not None:
        options["memory"] = memory
    made: Any = find_learner(learner)(
        **options,
        target=rows.target,
        positive=rows.classes[1] if len(rows.classes) == 2 else None,
        random_state=seed,
        time_limit=time_limit,
        callback=lambda step: callback(made, step),
    )
    made.fit_rules(rows)
    return made


def refuse_options(learner: str, options: Mapping[str, Any]) -> None:
    """Raises InputError for an option, given by name, that asks for what the learner cannot."""
    found = find_learner(learner)
    if options.get("start") is not None and "start" not in found.abilities:
        fix = "leave it out; --overrides MODEL keeps the overrides of a model"
        raise InputError(f"{found.word} does not go on from given rules", where="--start", fix=fix)
    refuse_unable(found, options, "--")
    if options.get("report") is not None:
        if "report" not in found.parameters:
            raise InputError(f"{found.word} predicts the probability in one way", where="--report", fix="leave it out")
        check_parameters("", {"--report": options["report"]}, {"--report": found.parameters["report"]})


def refuse_curve(parameters: Mapping[str, Any]) -> None:
    """Raises InputError where a learner with these parameters has no error by size."""
    if parameters.get("stopping") == "none":
        raise InputError(
            "there is no curve without cross-validation", where="--curve", fix="leave out --param stopping=none"
        )


def smallest(parameters: Mapping[str, Any], size: int | None = None) -> dict[str, Any]:
    """The parameters that also ask for the smallest model; raises InputError where they choose a size themselves."""
    if size is not None:
        raise InputError("--smallest and --size both say which size is taken", fix="give one")
    for name in ("parsimony", "stopping"):
        if name in parameters:
            raise InputError(f"--smallest and --param {name} both say which size is taken", fix="give one")
    return {**parameters, "parsimony": 1}


def of_size(learner: str, parameters: Mapping[str, Any], size: int) -> dict[str, Any]:
    """The parameters that also ask for a row of the ladder; raises InputError where the learner has no sizes."""
    if "size" not in find_learner(learner).parameters:
        raise InputError(f"{learner} has no sizes", where="--size", fix="leave it out")
    return {**parameters, "size": size}


def size_chosen(provenance: Mapping[str, Any], path: ModelPath) -> str:
    """How large the model became, and what decided that: `5 units, chosen by 5-fold cross-validation`."""
    units = list(provenance["units"])
    total = path.size_text(units)
    if provenance.get("stopped"):
        checked = f"the best by {path.choice}" if path.choice else "the best so far"
        return f"{total}, stopped early ({provenance['stopped']}): {checked}"
    if not path.choice:
        return total
    if units == [path.most]:
        return f"{total}, as many as allowed ({path.choice} would take more)"
    return f"{total}, chosen by {path.choice}"
