"""The shared binary tables: which class is positive, which columns are no features."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from rulekit.errors import InputError


@dataclass(frozen=True, slots=True)
class Source:
    """A file of `../shared/data`: its positive classes and the columns that are left out."""

    positive: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    file: str = ""


@dataclass(frozen=True, slots=True)
class BinaryTable:
    """Typed columns, missing cells null, and the label [n], 1 for the positive class."""

    name: str
    frame: pl.DataFrame
    labels: npt.NDArray[np.int8]


# Small ones first: the first lines of a run come soon.
SOURCES = {
    "breast_cancer_wisconsin": Source(("malignant",), ("id",)),
    "ionosphere": Source(("g",)),
    "heart_cleveland": Source(("present",)),
    "house_votes_84": Source(("republican",)),
    "pima_diabetes": Source(("1",)),
    "german_credit": Source(("bad",)),
    "tic_tac_toe": Source(("positive",)),
    "titanic": Source(("1",)),
    "banknote": Source(("1",)),
    "car_evaluation": Source(("acc", "good", "vgood")),
    "kr_vs_kp": Source(("won",)),
    "splice": Source(("EI", "IE")),
    "mushroom": Source(("poisonous",)),
    "spambase": Source(("1",)),
    "compas_two_year": Source(("1",)),
    "wine_quality": Source(("7", "8", "9")),
    "heloc": Source(("Bad",)),
    "mnist_4_9_8x8": Source(("9",), ("split",)),
    "mnist_1_7_8x8": Source(("7",), ("split",)),
    "magic_telescope": Source(("g",)),
    "adult": Source((">50K",), file="adult_train"),
    "adult_test": Source((">50K",)),
    "bank_marketing": Source(("yes",)),
    "covertype_93k": Source(("2",)),
}
FOLD_TABLES = tuple(name for name in SOURCES if name != "adult_test")


def load(name: str, folder: Path) -> BinaryTable:
    """A table by name from the folder of the shared data; raises InputError where it is not there."""
    source = SOURCES.get(name)
    if source is None:
        raise InputError(f"there is no table {name!r}", where="benchmarks", fix=f"one of {', '.join(SOURCES)}")
    path = folder / f"{source.file or name}.csv.gz"
    if not path.exists():
        raise InputError("this file is not there", where=str(path), fix="give the folder of the shared data by --data")
    frame = pl.read_csv(path, infer_schema_length=None)
    target = frame["target"].cast(pl.String)
    labels = target.is_in(source.positive).to_numpy().astype(np.int8)
    return BinaryTable(name, frame.drop("target", *source.left_out), labels)


def logical(name: str = "dnf") -> BinaryTable:
    """20,000 x 50 random bits, (h0 and h1) or (h2 and h3), 5 % of the labels flipped: two rules of two literals."""
    random = np.random.RandomState(7)
    bits = random.randint(0, 2, (20000, 50))
    truth = (bits[:, 0] & bits[:, 1]) | (bits[:, 2] & bits[:, 3])
    labels = truth ^ (random.rand(20000) < 0.05)
    return BinaryTable(name, pl.DataFrame(bits, schema=[f"h{j}" for j in range(50)]), labels.astype(np.int8))
