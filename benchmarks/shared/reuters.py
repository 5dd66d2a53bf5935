"""Reuters-21578, ModApte split, as sets of words: documents, topics, and the words that tell of a topic.

Documents of the 90 topics that both parts have (7,770 and 3,019), or all of the first part; words are letters only, in
lower case; function words and words of one training document are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer

from rulekit.learners.sums_of_rows.histograms import information_gain

Array = npt.NDArray[Any]

FILE = "reuters21578_modapte.csv.gz"
CLASSES = ("earn", "acq", "crude", "money-fx", "grain", "interest", "trade", "ship", "wheat", "corn")
LEAST_GAIN = 0.005


@dataclass(frozen=True, slots=True, eq=False)
class Documents:
    """Binary word matrices of training and test documents, labels [n, classes] of each, and the words."""

    train: csr_matrix
    test: csr_matrix
    of_train: Array
    of_test: Array
    words: Array


def documents(folder: Path, *, everything: bool = False) -> Documents:
    """The documents of the 90 topics that both parts have; everything: those without one too."""
    frame = pl.read_csv(folder / FILE, infer_schema=False)
    text = pl.concat_str([pl.col("title").fill_null(""), pl.lit(" "), pl.col("body").fill_null("")]).alias("text")
    frame = frame.with_columns(text, topics=pl.col("target").fill_null("").str.split(";"))
    parts = {part: frame.filter(pl.col("split") == part) for part in ("train", "test")}
    shared = set.intersection(*(set(part["topics"].explode()) - {""} for part in parts.values()))
    if not everything:
        parts = {name: part.filter(_any_of(part["topics"], shared)) for name, part in parts.items()}
    vectorizer = CountVectorizer(binary=True, min_df=2, stop_words="english", token_pattern=r"(?u)\b[a-z]{2,}\b")
    train = vectorizer.fit_transform(parts["train"]["text"].to_list()).astype(np.float64)
    test = vectorizer.transform(parts["test"]["text"].to_list()).astype(np.float64)
    labels = [np.array([[name in row for name in CLASSES] for row in parts[p]["topics"].to_list()]) for p in parts]
    return Documents(train, test, labels[0], labels[1], vectorizer.get_feature_names_out())


def _any_of(topics: pl.Series, shared: set[str]) -> pl.Series:
    return pl.Series([any(topic in shared for topic in row) for row in topics.to_list()])


def informative(words: csr_matrix, labels: Array, least: float = LEAST_GAIN) -> Array:
    """The columns whose expected information gain is at least so many nats."""
    with_word = np.column_stack([words[labels].getnnz(axis=0), words[~labels].getnnz(axis=0)])
    every = np.array([labels.sum(), (~labels).sum()])
    return np.flatnonzero(information_gain(np.stack([with_word, every - with_word], axis=1)) >= least)
