"""A rule model that decides "income", in plain Python (made by rulekit).

classes
    "low"
    "mid"
    "high"
columns that the rules read
    "age" (numeric)
    "veteran" (boolean)
    "grade" (categorical)
    "since" (numeric, date)

predict(row) gives the label, predict_proba(row) the probability of each class. A row is a mapping by
column name, or a sequence of all columns in the order of COLUMNS; None, NaN and the empty text are
missing. predict_many(data) takes rows, a mapping of columns, a data frame or an array, and is fast
where numpy is installed. Nothing but the standard library is needed.

Command line: python THIS.py < rows.csv > predictions.csv, or with --self-test or --help.

digest 008324ab523cb45105e7c06f60cbe1fd7b1c368e234760508853596d9b2e45ac
"""

from __future__ import annotations

# sha256 7eb5d882c74d7e33c3787aa3fe6d05fcebdb036137d14e3d2432e9179daa00a9

DIGEST = "008324ab523cb45105e7c06f60cbe1fd7b1c368e234760508853596d9b2e45ac"
CLASSES = ("low", "mid", "high")
# All columns, in schema order.
COLUMNS = ("age", "capital_gain", "education_num", "marital_status", "veteran", "grade", "since", "account")
# Columns that the rules read: position, name, kind, texts that mean missing (beside the empty one).
USED: tuple[Used, ...] = (
    (0, "age", "number", ()),
    (4, "veteran", "flag", ()),
    (5, "grade", "level", ("?",)),
    (6, "since", "day", ()),
)
GRADE_KNOWN = frozenset({None, "", "?", "1", "2", "3"})


def decide(row: Any) -> int:
    """Class index of a row, a mapping by column name."""
    grade = row["grade"]
    if type(grade) is not str or grade not in GRADE_KNOWN:
        grade = level(grade, GRADE_KNOWN)
    # rdf8cb6: age > 30.5 and veteran
    if row["age"] > 30.500000953674316 and row["veteran"] > 0.5:
        return 1
    # r289fb7: grade in {"1"}
    if grade in {"1"}:
        return 1
    # r818183: (age <= 30.5 or missing)
    if not row["age"] > 30.500000953674316:
        return 0
    # rc96c6d: since > 2002-11-09
    if row["since"] > 12000.00048828125:
        return 2
    return 2


def probabilities(row: Any) -> list[float]:
    """Probability of each class; the row as for `decide`."""
    return one_hot(decide(row), 3)


def predict(row: Any) -> str:
    """Label of a row; raises KeyError for an absent column, ValueError for an unreadable cell."""
    try:
        match row:
            case {}:  # any mapping
                return CLASSES[decide(row)]
            case [*_] if len(row) == 8:  # no array, which has other numbers
                # `decide` once more, on places: to name the cells first would take longer than the rules.
                grade = row[5]
                if type(grade) is not str or grade not in GRADE_KNOWN:
                    grade = level(grade, GRADE_KNOWN)
                # rdf8cb6
                if row[0] > 30.500000953674316 and row[4] > 0.5:
                    return "mid"
                # r289fb7
                if grade in {"1"}:
                    return "mid"
                # r818183
                if not row[0] > 30.500000953674316:
                    return "low"
                # rc96c6d
                if row[6] > 12000.00048828125:
                    return "high"
                return "high"
    except (AttributeError, TypeError, LookupError):  # missing or textual cells, absent columns
        pass
    return CLASSES[decide(cells(row, len(COLUMNS), USED))]


def predict_proba(row: Any) -> list[float]:
    """Probabilities of a row in the order of CLASSES; raises as `predict`."""
    return one_hot(CLASSES.index(predict(row)), 3)


def predict_many(data: Any) -> list[str]:
    """Labels of rows, of a mapping or frame of columns, or of a two-dimensional array."""
    by_column = hasattr(data, "keys") or hasattr(data, "shape")
    np = numpy_or_none() if by_column else None
    if np is None:
        return [predict(row) for row in rows_of(data)]
    columns = columns_of(np, data, len(COLUMNS), USED)
    return [CLASSES[k] for k in in_blocks(np, decide_many, columns, length_of(data))]


def decide_many(np: Any, n: int, age: Any, veteran: Any, grade: Any, since: Any) -> Any:
    """`decide` for n rows at once, on columns of numpy."""
    grade = levels_of(grade, GRADE_KNOWN)
    chosen = np.full(n, 2)
    chosen = np.where(since > 12000.00048828125, 2, chosen)
    chosen = np.where(~(age > 30.500000953674316), 0, chosen)
    chosen = np.where(
        (
            # rdf8cb6
            ((age > 30.500000953674316) & (veteran > 0.5))
            # r289fb7
            | among(np, grade, {"1"})
        ),
        1,
        chosen,
    )
    return chosen


# How cells are read, and the arithmetic -- the same in every module -------------------------------------------------

# sha256 62bcf9ecded5c4208ab1977a0cd47c0eb1d14048e83b2d6fb48194dfc72beb87

# Rows at the edges of the rules, with the model's answers: --self-test -----------------------------------------------

# Of each column of USED the cells that the rows are made of.
TEST_CELLS: tuple[tuple[Any, ...], ...] = (
    (nan, -inf, inf, 0.0, 30.500000953674316, 30.50000095367432),
    (nan, 0.0, 1.0),
    (None, "never seen", "3.0", "1", "2", "3"),
    (nan, -inf, inf, 0.0, 12000.00048828125, 12000.000488281252),
)

# Probabilities of the classes.
TEST_CHANCES: tuple[tuple[float, ...], ...] = (
    (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0),
)

# Rows: the number of the class, of its probabilities, and of each cell.
TEST_ROWS: tuple[tuple[int, ...], ...] = (
# sha256 58606932aa4e2dd37417d6378d8a9aca4fb4f2a1ce284f5eb61bae68426973a6

)


# sha256 722677e311f664a7e0a24603ea83c06ad50e6fa9cb0400cf89e8f79a3051c228

# The same rules in the rule language, from which rulekit reads this module (never by running it).
# rules: begin
# sha256 206d652884aae3045864bace4ac89661389525864eed51e9b79e67fa691eab13

# rules: end
