"""The noisy-or and its relatives on tables and on topics of Reuters, as a user calls them.

    python -m benchmarks.learning.noisy_or_learner [TABLE ...] [--data ../shared/data]
    python -m benchmarks.learning.noisy_or_learner --texts [TOPIC ...] [--data ../shared/data]

Tables: accuracy, AUC, rules and literals of the defaults, means of five stratified folds (seed 0) of 12,000 rows at
most, and the CPU seconds of all fits. Topics: F1 on the test texts, with the threshold of the best F1 on the training
texts, the topic being the class that has causes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from benchmarks.learning.peers.data import FOLD_TABLES, load
from benchmarks.shared.reuters import FILE
from rulekit import NoisyOrClassifier
from rulekit.audit.threshold import Purpose, choose_threshold
from rulekit.graph.rules import counts
from rulekit.learners.papers.noisy_or.estimators import GatedNoisyOrClassifier, PaperNoisyOrClassifier

VARIANTS: Mapping[str, Callable[..., Any]] = {
    "single": PaperNoisyOrClassifier,
    "noisy-or": NoisyOrClassifier,
    "gated": GatedNoisyOrClassifier,
    "gated conjunctions": partial(GatedNoisyOrClassifier, rule_length=4),
}
TOPICS = ("grain", "crude", "money-fx", "acq")
MOST_ROWS = 12_000


def on_table(name: str, folder: Path) -> None:
    """A line for each variant."""
    table = load(name, folder)
    kept = np.sort(np.random.default_rng(0).permutation(len(table.labels))[:MOST_ROWS])
    frame, labels = table.frame[kept], table.labels[kept]
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(np.zeros(len(labels)), labels))
    for variant, learner in VARIANTS.items():
        begun, found = time.process_time(), []
        for train, test in folds:
            model = learner(positive=1, random_state=0).fit(frame[train], labels[train])
            size, chance = counts(model.rule_graph_), model.predict_proba(frame[test])[:, 1]
            right = np.mean(model.predict(frame[test]) == labels[test])
            found.append((100.0 * right, 100.0 * roc_auc_score(labels[test], chance), size.rules, size.literals))
        accuracy, area, rules, literals = np.mean(found, axis=0)
        error = np.std([each[0] for each in found], ddof=1) / np.sqrt(len(found))
        seconds = time.process_time() - begun
        print(
            f"{name:24} {variant:18} accuracy {accuracy:6.2f} +- {error:4.2f}  AUC {area:6.2f}  "
            f"{rules:4.1f} rules  {literals:4.1f} literals  {seconds:6.1f} s",
            flush=True,
        )


def on_texts(topic: str, folder: Path) -> None:
    """A line for each variant, of texts that have one of the topics of both parts."""
    frame = pl.read_csv(folder / FILE, infer_schema_length=0)
    topics = frame["target"].fill_null("").str.split(";")
    parts = {part: set(topics.filter(frame["split"] == part).explode()) for part in ("train", "test")}
    shared = topics.list.set_intersection(sorted(parts["train"] & parts["test"] - {""})).list.len() > 0
    story = (frame["title"].fill_null("") + " " + frame["body"].fill_null("")).alias("story")
    label = topics.list.contains(topic)
    train, test = (shared & (frame["split"] == part) for part in ("train", "test"))
    for variant, learner in VARIANTS.items():
        begun, texts = time.process_time(), [pl.DataFrame([story.filter(part)]) for part in (train, test)]
        tuned = {} if learner is NoisyOrClassifier else {"threshold": "f1"}
        model = learner(positive=True, family="or", types={"story": "text"}, random_state=0, **tuned)
        model.fit(texts[0], label.filter(train))
        said = model.predict(texts[1])
        if not tuned:  # what `rulekit threshold --f1` does with the training texts
            chances = [model.predict_proba(part)[:, 1] for part in texts]
            choice = choose_threshold(label.filter(train).to_numpy(), chances[0], Purpose(f1=True))
            said = chances[1] > choice.chosen.threshold
        size, f1 = counts(model.rule_graph_), 100.0 * f1_score(label.filter(test), said)
        seconds = time.process_time() - begun
        print(f"{topic:10} {variant:18} F1 {f1:5.1f}  {size}  {seconds:5.1f} s", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--texts", action="store_true")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    options = parser.parse_args()
    measured, names = (on_texts, TOPICS) if options.texts else (on_table, FOLD_TABLES)
    for name in options.names or names:
        measured(name, options.data)


if __name__ == "__main__":
    main()
