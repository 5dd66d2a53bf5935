"""Gramression (B. McDowell): Table 1, Figures 1 to 3, truths that are found again, and tables.

    python -m benchmarks.learning.paper_gramression [table1|truths|random|tables ...] [--small] [--write]

Table 1: 3,000 structures of three objects with five properties, true weights .1 to 1.6 of the first object. Truths:
fixed and random sentences with weights, 3,000 and 10,000 structures; found means the same truth values on 4,096 fresh
structures, or the contrary ones. Tables: 5 folds, beside additive rules and CNLL. --write replaces the section "paper
gramression" of docs/benchmarks/ and its picture.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.learning.peers.data import load
from benchmarks.shared.machine import stamp
from benchmarks.shared.pictures import Panel, draw_lines
from benchmarks.shared.sections import add_options, markdown, picture, publish
from rulekit import AdditiveRulesClassifier, GramressionClassifier, RulesClassifier
from rulekit.graph.evaluation.structures import Structures, random_structures, unpacked
from rulekit.graph.language.sentences import Sentence, negation, sentence
from rulekit.learners.gramression.grammar import CHAIN, Grammar, Language, Vocabulary
from rulekit.learners.gramression.learner import Course, GramressionSettings, descend
from rulekit.learners.gramression.search import Counts, Search
from rulekit.synthetic import structures

PROPERTIES = {f"P{i}": 1 for i in range(5)}
CHAINED = {"P0(a)": 0.1, "P1(a)": 0.2, "P2(a)": 0.4, "P3(a)": 0.8, "P4(a)": 1.6}
ALL_FIFTEEN = Grammar(lambda language: language.atoms())
VARIANTS = {
    "logistic regression, C = 16": (ALL_FIFTEEN, GramressionSettings(penalty=16.0)),
    "gramression, C = 8": (CHAIN, GramressionSettings()),
    "the same, own penalty clock": (CHAIN, GramressionSettings(solver="descent-own")),
    "the same, rules after every step": (CHAIN, GramressionSettings(rules="step")),
}
TRUTHS: Mapping[str, Mapping[str, float]] = {
    "conj": {"P0(a) and P1(b)": 1.6, "P1(a) and R0(b, c)": -1.6, "P0(c)": 0.8},
    "quant": {"exists x: P0(x) and P1(x)": 1.5, "forall x: R0(x, a)": -2.0, "P1(b)": 1.0},
    "rel": {"exists x: P0(x) and R0(x, a)": 1.6, "P0(a) and P1(b)": -1.4, "P1(a) and P1(c)": 1.4},
    "rel2": {"exists x, y: P0(x) and R0(x, y) and P1(y)": 1.8, "P0(a) and P1(b)": -1.5},
    "mix": {
        "exists x: P0(x) and R0(x, a)": 1.6,
        "P1(a) and P1(c)": 1.5,
        "exists x: P1(x) and R0(b, x)": -1.5,
        "P0(b)": 1.0,
    },
}
PASSES = (0, 3, 7, 11, 15, 23, 31, 39, 46)
"""The passes, of 47, that the pictures show."""
TABLES = ("tic_tac_toe", "car_evaluation", "kr_vs_kp", "titanic")


def vocabulary_of(grammar: Grammar, drawn: Structures) -> Vocabulary:
    """The features of a grammar on structures of which each counts once."""
    return Vocabulary(Language(PROPERTIES, drawn.objects), drawn, np.ones(drawn.n), grammar)


def error_of(bias: float, weights: Mapping[str, float]) -> float:
    """The mean distance of the bias and of the five true weights, as the paper's Table 1 has it."""
    return float(np.mean([abs(bias + 1.0), *(abs(weights.get(name, 0.0) - true) for name, true in CHAINED.items())]))


def chained(seed: int, n: int = 3000) -> tuple[Structures, np.ndarray]:
    """Structures and labels [n] of Table 1."""
    labels = structures(n, seed, sentences=CHAINED, bias=-1.0, arities=PROPERTIES)[1]
    return random_structures(PROPERTIES, ("a", "b", "c"), n, seed=seed), labels.astype(np.float64)


def descended(variant: str, seed: int) -> tuple[Course, Vocabulary]:
    """One run of Algorithm 1."""
    grammar, options = VARIANTS[variant]
    drawn, labels = chained(seed)
    vocabulary = vocabulary_of(grammar, drawn)
    return descend(vocabulary, labels, np.ones(drawn.n), options, seed), vocabulary


def table1_lines(seeds: int, path: Path) -> list[str]:
    """Table 1 by variant, and the default search; draws Figures 1 to 3."""
    rows, courses = [], dict[str, list[Course]]()
    for variant in VARIANTS:
        errors, reached, exact = [], 0, 0
        for seed in range(seeds):
            course, vocabulary = descended(variant, seed)
            names = [str(each) for each in vocabulary.formulas]
            weights = {name: float(w) for name, w in zip(names, course.weights[1:], strict=True) if w}
            errors.append(error_of(float(course.weights[0]), weights))
            reached += set(names) >= set(CHAINED)
            exact += set(weights) == set(CHAINED)
            courses.setdefault(variant, []).append(course)
        rows.append((variant, _spread(errors), f"{reached} of {seeds}", f"{exact} of {seeds}", ""))
    errors, clean, exact, seconds = [], 0, 0, []
    for seed in range(min(seeds, 20)):
        drawn, labels = chained(seed)
        start = time.perf_counter()
        vocabulary = vocabulary_of(CHAIN, drawn)
        best = Search(vocabulary, Counts(np.ones(drawn.n), labels), lambda: None).best(30)
        seconds.append(time.perf_counter() - start)
        names = [str(vocabulary.formulas[each]) for each in best.features]
        errors.append(error_of(best.bias, dict(zip(names, best.weights.tolist(), strict=True))))
        clean += set(names) <= set(CHAINED)
        exact += set(names) == set(CHAINED)
    note = f"{clean} of {len(errors)} without a wrong feature; {np.median(seconds):.2f} s"
    rows.append(("default search, chain grammar", _spread(errors), "", f"{exact} of {len(errors)}", note))
    draw_lines(path, [[_figure(courses, k) for k in (1, 2, 3)]], scale="linear")
    late = [_at(course, 50_000, 1) - course.passes[-1][1] for course in courses["gramression, C = 8"]]
    header = ("Algorithm 1, |D| = 3,000, K = 140,000", "error", "five features reached", "support exact", "")
    last = f"Log-likelihood at step 50,000 minus the last one: {_spread(late)} (gramression, C = 8)."
    return [*markdown(header, rows), "", last, "", f"![Figures 1 to 3](pictures/{path.name})", ""]


def _spread(values: Sequence[float]) -> str:
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1):.3f}"


def _at(course: Course, step: int, place: int) -> float:
    return float(next(row[place] for row in course.passes if row[0] >= step))


def _figure(courses: Mapping[str, Sequence[Course]], place: int) -> Panel:
    title = ("", "Figure 1: log-likelihood", "Figure 2: L1 norm", "Figure 3: non-zero weights")[place]
    lines = {}
    for variant, runs in courses.items():
        found = np.array([[course.passes[k][place] for k in PASSES] for course in runs])
        if place == 1:
            found = -found
        steps = [runs[0].passes[k][0] for k in PASSES]
        low, middle, high = np.quantile(found, [0.25, 0.5, 0.75], axis=0)
        lines[variant] = list(zip(map(float, steps), low.tolist(), middle.tolist(), high.tolist(), strict=True))
    return Panel(title.replace("log-likelihood", "log-likelihood with the other sign"), "step", "", lines)


def found_again(truth: Mapping[str, float], n: int, seed: int, **arities: int) -> tuple[bool, list[str], float]:
    """Whether exactly the sentences of a truth are found; the features, and the seconds of the fit."""
    kinds = arities or {"P0": 1, "P1": 1, "R0": 2}
    columns, labels = structures(n, seed, sentences=truth, bias=_centre(truth, kinds), arities=kinds)
    start = time.perf_counter()
    model = GramressionClassifier(positive=1, random_state=0).fit(columns, labels)
    seconds = time.perf_counter() - start
    fresh = random_structures(kinds, ("a", "b", "c"), 4096, seed=10_000 + seed)

    def truths(of: Sequence[Sentence]) -> set[bytes]:
        values = [unpacked(fresh.holds(each), fresh.n) for each in of]
        return {(held ^ held[0]).tobytes() for held in values}

    same = truths(model.features_) == truths([sentence(text) for text in truth])
    return same, [f"{w:+.2f} {f}" for f, w in zip(model.features_, model.weights_, strict=True)], seconds


def _centre(truth: Mapping[str, float], kinds: Mapping[str, int]) -> float:
    """The bias at which both classes are about as frequent."""
    drawn = random_structures(kinds, ("a", "b", "c"), 4096, seed=1)
    return -sum(weight * float(unpacked(drawn.holds(sentence(text)), 4096).mean()) for text, weight in truth.items())


def truth_lines(seeds: int, sizes: Sequence[int]) -> list[str]:
    """How often each truth is found again."""
    rows = []
    for name, truth in TRUTHS.items():
        cells = []
        for n in sizes:
            runs = [found_again(truth, n, seed) for seed in range(seeds)]
            seconds = [run[2] for run in runs]
            cells.append(f"{sum(run[0] for run in runs)} of {seeds}; {np.median(seconds):.1f} ({max(seconds):.1f}) s")
            for run in runs:
                if not run[0]:
                    print(name, n, run[1], flush=True)
        rows.append((f"{name}: {'; '.join(f'{w:+g} {text}' for text, w in truth.items())}", *cells))
    return [*markdown(("exact support, median (longest) seconds", *(f"{n:,} rows" for n in sizes)), rows), ""]


def random_truth(seed: int) -> dict[str, float]:
    """Two to four random features of a literal, conjunctions of two, and sentences of one or two variables."""
    rng = np.random.default_rng([seed, 7])
    objects, properties = ("a", "b", "c"), [f"P{i}" for i in range(4)]

    def literal(names: Sequence[str]) -> Sentence:
        terms = tuple(rng.choice(names, 2 if rng.random() < 0.4 else 1).tolist())
        found = Sentence("atom", "R0" if len(terms) == 2 else str(rng.choice(properties)), terms)
        return negation(found) if rng.random() < 0.3 else found

    truth: dict[str, float] = {}
    drawn = random_structures(dict.fromkeys(properties, 1) | {"R0": 2}, objects, 4096, seed=1)
    wanted = int(rng.integers(2, 5))
    while len(truth) < wanted:
        kind = rng.integers(4)
        if kind < 2:
            parts = [literal(objects) for _ in range(kind + 1)]
        else:
            x = literal(("x",))
            other = Sentence("atom", "R0", ("x", "y" if kind == 3 else str(rng.choice(objects))))
            parts = [x, other, *([Sentence("atom", str(rng.choice(properties)), ("y",))] if kind == 3 else [])]
        body = parts[0] if len(parts) == 1 else Sentence("and", parts=tuple(parts))
        for name in ("y", "x")[3 - kind :] if kind > 1 else ():
            body = Sentence("exists", name, parts=(body,))
        held = unpacked(drawn.holds(body), drawn.n)
        if held.any() and not held.all():  # a sentence that says nothing cannot be found again
            truth[str(body)] = float(rng.uniform(1.0, 2.0) * rng.choice([-1.0, 1.0]))
    return truth


def random_lines(seeds: int, sizes: Sequence[int]) -> list[str]:
    """How many random truths are found again."""
    kinds = {f"P{i}": 1 for i in range(4)} | {"R0": 2}
    cells = []
    for n in sizes:
        runs = [found_again(truth := random_truth(seed), n, seed, **kinds) for seed in range(seeds)]
        for seed, run in enumerate(runs):
            if not run[0]:
                print(seed, n, random_truth(seed), run[1], flush=True)
        seconds = [run[2] for run in runs]
        cells.append(f"{sum(run[0] for run in runs)} of {seeds}; {np.median(seconds):.1f} ({max(seconds):.1f}) s")
        del truth
    return [*markdown(("random truths", *(f"{n:,} rows" for n in sizes)), [("exact support", *cells)]), ""]


def table_lines(names: Sequence[str], folder: Path) -> list[str]:
    """Errors of 5 folds: features of the table grammar, additive rules, a few rules."""
    rows = []
    makers: Mapping[str, Callable[[], object]] = {
        "gramression": lambda: GramressionClassifier(random_state=0),
        "additive": lambda: AdditiveRulesClassifier(random_state=0),
        "rules": lambda: RulesClassifier(random_state=0),
    }
    for name in names:
        table = load(name, folder)
        columns, labels = table.frame, table.labels
        folds = StratifiedKFold(5, shuffle=True, random_state=0).split(np.zeros(len(labels)), labels)
        errors = {maker: list[float]() for maker in makers}
        for train, test in folds:
            for maker, make in makers.items():
                model = make().fit(columns[train], labels[train])  # type: ignore[attr-defined]
                errors[maker].append(100.0 * float(np.mean(model.predict(columns[test]) != labels[test])))
        cells = [f"{np.mean(found):.2f} ± {np.std(found, ddof=1) / 5**0.5:.2f}" for found in errors.values()]
        rows.append((name, *cells))
    return [*markdown(("error %, 5 folds (standard error)", *makers), rows), ""]


def main() -> None:
    """Measure what is named, by default everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=["table1", "truths", "random", "tables", "all"], default="all")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    add_options(parser)
    arguments = parser.parse_args()
    small = arguments.small
    sizes = (3000,) if small else (3000, 10_000)
    made: Mapping[str, Callable[[], list[str]]] = {
        "table1": lambda: table1_lines(3 if small else 100, picture(arguments, "paper_gramression")),
        "truths": lambda: truth_lines(3 if small else 20, sizes),
        "random": lambda: random_lines(3 if small else 30, sizes),
        "tables": lambda: table_lines(TABLES[:1] if small else TABLES, arguments.data),
    }
    for part in made if "all" in arguments.parts else arguments.parts:
        publish(arguments, f"gramression {part}", [stamp(), "", *made[part]()])


if __name__ == "__main__":
    main()
