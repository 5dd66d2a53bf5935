"""A rule model that decides "income", in plain Python (made by rulekit).

classes
    "<=50K"
    ">50K"
columns that the rules read
    "age" (numeric)
    "capital_gain" (numeric, in USD)
    "education_num" (numeric)
    "marital_status" (categorical)

predict(row) gives the label, predict_proba(row) the probability of each class. A row is a mapping by
column name, or a sequence of all columns in the order of COLUMNS; None, NaN and the empty text are
missing. predict_many(data) takes rows, a mapping of columns, a data frame or an array, and is fast
where numpy is installed. Nothing but the standard library is needed.

Command line: python THIS.py < rows.csv > predictions.csv, or with --self-test or --help.

digest 9c27512561e672bcead96fda19174ca304c28a65501bc23abe3175ad54608fd0
"""

from __future__ import annotations

# sha256 7eb5d882c74d7e33c3787aa3fe6d05fcebdb036137d14e3d2432e9179daa00a9

DIGEST = "9c27512561e672bcead96fda19174ca304c28a65501bc23abe3175ad54608fd0"
CLASSES = ("<=50K", ">50K")
# All columns, in schema order.
COLUMNS = ("age", "capital_gain", "education_num", "marital_status", "veteran", "grade", "since", "account")
# Columns that the rules read: position, name, kind, texts that mean missing (beside the empty one).
USED: tuple[Used, ...] = (
    (0, "age", "number", ()),
    (1, "capital_gain", "number", ()),
    (2, "education_num", "number", ()),
    (3, "marital_status", "level", ()),
)


def decide(row: Any) -> int:
    """Class index of a row, a mapping by column name."""
    marital_status = row["marital_status"]
    if type(marital_status) is not str:
        marital_status = level(marital_status)
    # r0fcc97: capital_gain > 5,100 USD
    if row["capital_gain"] > 5100.000244140625:
        return 1
    # r8989d4: age > 28.5 and marital_status in {Married-AF-spouse, Married-civ-spouse} and education_num > 12.5
    if (
        row["age"] > 28.500000953674316
        and marital_status in {"Married-AF-spouse", "Married-civ-spouse"}
        and row["education_num"] > 12.500000476837158
    ):
        return 1
    return 0


def probabilities(row: Any) -> list[float]:
    """Probability of each class; the row as for `decide`."""
    marital_status = row["marital_status"]
    if type(marital_status) is not str:
        marital_status = level(marital_status)
    # r8989d4
    p1 = 0.99
    if (
        row["age"] > 28.500000953674316
        and marital_status in {"Married-AF-spouse", "Married-civ-spouse"}
        and row["education_num"] > 12.500000476837158
    ):
        p1 = 0.30000000000000004
    p2 = (
        # r0fcc97
        (0.06999999999999995 if row["capital_gain"] > 5100.000244140625 else 1.0)
        * p1
    )
    positive = 1.0 - p2
    return [1.0 - positive, positive]


def predict(row: Any) -> str:
    """Label of a row; raises KeyError for an absent column, ValueError for an unreadable cell."""
    try:
        match row:
            case {}:  # any mapping
                return CLASSES[decide(row)]
            case [*_] if len(row) == 8:  # no array, which has other numbers
                # `decide` once more, on places: to name the cells first would take longer than the rules.
                marital_status = row[3]
                if type(marital_status) is not str:
                    marital_status = level(marital_status)
                # r0fcc97
                if row[1] > 5100.000244140625:
                    return ">50K"
                # r8989d4
                if (
                    row[0] > 28.500000953674316
                    and marital_status in {"Married-AF-spouse", "Married-civ-spouse"}
                    and row[2] > 12.500000476837158
                ):
                    return ">50K"
                return "<=50K"
    except (AttributeError, TypeError, LookupError):  # missing or textual cells, absent columns
        pass
    return CLASSES[decide(cells(row, len(COLUMNS), USED))]


def predict_proba(row: Any) -> list[float]:
    """Probabilities of a row in the order of CLASSES; raises as `predict`."""
    try:
        match row:
            case {}:  # any mapping
                return probabilities(row)
            case [*_] if len(row) == 8:  # no array, which has other numbers
                # `probabilities` once more, on places: to name the cells first would take longer than the rules.
                marital_status = row[3]
                if type(marital_status) is not str:
                    marital_status = level(marital_status)
                # r8989d4
                p1 = 0.99
                if (
                    row[0] > 28.500000953674316
                    and marital_status in {"Married-AF-spouse", "Married-civ-spouse"}
                    and row[2] > 12.500000476837158
                ):
                    p1 = 0.30000000000000004
                p2 = (
                    # r0fcc97
                    (0.06999999999999995 if row[1] > 5100.000244140625 else 1.0)
                    * p1
                )
                positive = 1.0 - p2
                return [1.0 - positive, positive]
    except (AttributeError, TypeError, LookupError):  # missing or textual cells, absent columns
        pass
    return probabilities(cells(row, len(COLUMNS), USED))


def predict_many(data: Any) -> list[str]:
    """Labels of rows, of a mapping or frame of columns, or of a two-dimensional array."""
    by_column = hasattr(data, "keys") or hasattr(data, "shape")
    np = numpy_or_none() if by_column else None
    if np is None:
        return [predict(row) for row in rows_of(data)]
    columns = columns_of(np, data, len(COLUMNS), USED)
    return [CLASSES[k] for k in in_blocks(np, decide_many, columns, length_of(data))]


def decide_many(np: Any, n: int, age: Any, capital_gain: Any, education_num: Any, marital_status: Any) -> Any:
    """`decide` for n rows at once, on columns of numpy."""
    marital_status = levels_of(marital_status)
    positive = (
        # r0fcc97
        (capital_gain > 5100.000244140625)
        # r8989d4
        | (
            (age > 28.500000953674316)
            & among(np, marital_status, {"Married-AF-spouse", "Married-civ-spouse"})
            & (education_num > 12.500000476837158)
        )
    )
    return np.where(positive, 1, 0)


# How cells are read, and the arithmetic -- the same in every module -------------------------------------------------

# sha256 4965e71c7c7ba97e20a4f86f554154972c2ad089701f5f9578a869bf0c34e921

# Rows at the edges of the rules, with the model's answers: --self-test -----------------------------------------------

# Of each column of USED the cells that the rows are made of.
TEST_CELLS: tuple[tuple[Any, ...], ...] = (
    (nan, -inf, inf, 0.0, 28.500000953674316, 28.50000095367432),
    (nan, -inf, inf, 0.0, 5100.000244140625, 5100.000244140626),
    (nan, -inf, inf, 0.0, 12.500000476837158, 12.50000047683716),
    (None, "never seen", "Married-civ-spouse", "Married-AF-spouse", "Divorced"),
)

# Probabilities of the classes.
TEST_CHANCES: tuple[tuple[float, ...], ...] = (
    (0.99, 0.010000000000000009), (0.06929999999999992, 0.9307000000000001), (0.30000000000000004, 0.7),
    (0.02100000000000002, 0.979),
)

# Rows: the number of the class, of its probabilities, and of each cell.
TEST_ROWS: tuple[tuple[int, ...], ...] = (
# sha256 5a5a366b125d8be4d841f753a7fd1cb3921ad6b7dc89cfada556ada0c5f5bceb

)


# sha256 722677e311f664a7e0a24603ea83c06ad50e6fa9cb0400cf89e8f79a3051c228

# The same rules in the rule language, from which rulekit reads this module (never by running it).
# rules: begin
# sha256 0a8a41d375762ded458bcd9b15e9c3327659e16f06a8f725ad14b4d59e3025db

# rules: end
