"""A rule model that decides "income", in plain Python (made by rulekit).

classes
    1
    2
    3
columns that the rules read
    "capital_gain" (numeric, in USD)
    "veteran" (boolean)

rules
    income is above 1 when the probability that any of these holds exceeds 0.5
      raf71c0  0.8  capital_gain > 5,100 USD
      rc42c4e  0.6  (veteran or missing)
    income is above 2 when the probability that any of these holds exceeds 0.9
      raf71c0  0.8  capital_gain > 5,100 USD
      rc42c4e  0.6  (veteran or missing)
    otherwise 1.
    Missing: capital_gain missing never satisfies a rule; veteran missing satisfies a rule that says
      so.
    0.8: the condition counts with probability 0.8 where it holds.

predict(row) gives the label, predict_proba(row) the probability of each class. A row is a mapping by
column name, or a sequence of all columns in the order of COLUMNS; None, NaN and the empty text are
missing. predict_many(data) takes rows, a mapping of columns, a data frame or an array, and is fast
where numpy is installed. Nothing but the standard library is needed.

Command line: python THIS.py < rows.csv > predictions.csv, or with --self-test or --help.

digest a4d13f1230f05302bf72b4e5be9686fd8f7fd65be8fb6431bcd0ec67438bb7fb
"""

from __future__ import annotations

# sha256 97e448a7a5ff3cb4816b8a98bf79a220da092e44721d055af91ea646da4efbf5

DIGEST = "a4d13f1230f05302bf72b4e5be9686fd8f7fd65be8fb6431bcd0ec67438bb7fb"
CLASSES = (1, 2, 3)
# All columns, in schema order.
COLUMNS = ("age", "capital_gain", "education_num", "marital_status", "veteran", "grade", "since", "account")
# Columns that the rules read: position, name, kind, texts that mean missing (beside the empty one).
USED: tuple[Used, ...] = (
    (1, "capital_gain", "number", ()),
    (4, "veteran", "flag", ()),
)


def decide(row: Any) -> int:
    """Class index of a row, a mapping by column name."""
    p1 = (
        # raf71c0: a fires with probability 0.8 when capital_gain > 5,100 USD
        (0.19999999999999996 if row["capital_gain"] > 5100.000244140625 else 1.0)
        # rc42c4e: b fires with probability 0.6 when (veteran or missing)
        * (0.4 if not row["veteran"] <= 0.5 else 1.0)
    )
    total1 = 0.0
    # raf71c0: a fires with probability 0.8 when capital_gain > 5,100 USD
    if row["capital_gain"] > 5100.000244140625:
        total1 += 1.6094379124341005
    # rc42c4e: b fires with probability 0.6 when (veteran or missing)
    if not row["veteran"] <= 0.5:
        total1 += 0.916290731874155
    return sum((1.0 - p1 > 0.5, total1 > 2.302585092994046))


def probabilities(row: Any) -> list[float]:
    """Probability of each class; the row as for `decide`."""
    return one_hot(decide(row), 3)


def predict(row: Any) -> int:
    """Label of a row; raises KeyError for an absent column, ValueError for an unreadable cell."""
    try:
        match row:
            case {}:  # any mapping
                return CLASSES[decide(row)]
            case [*_] if len(row) == 8:  # no array, which has other numbers
                # `decide` once more, on places: to name the cells first would take longer than the rules.
                p1 = (
                    # raf71c0
                    (0.19999999999999996 if row[1] > 5100.000244140625 else 1.0)
                    # rc42c4e
                    * (0.4 if not row[4] <= 0.5 else 1.0)
                )
                total1 = 0.0
                # raf71c0
                if row[1] > 5100.000244140625:
                    total1 += 1.6094379124341005
                # rc42c4e
                if not row[4] <= 0.5:
                    total1 += 0.916290731874155
                return CLASSES[sum((1.0 - p1 > 0.5, total1 > 2.302585092994046))]
    except (AttributeError, TypeError, LookupError):  # missing or textual cells, absent columns
        pass
    return CLASSES[decide(cells(row, len(COLUMNS), USED))]


def predict_proba(row: Any) -> list[float]:
    """Probabilities of a row in the order of CLASSES; raises as `predict`."""
    return one_hot(CLASSES.index(predict(row)), 3)


def predict_many(data: Any) -> list[int]:
    """Labels of rows, of a mapping or frame of columns, or of a two-dimensional array."""
    by_column = hasattr(data, "keys") or hasattr(data, "shape")
    np = numpy_or_none() if by_column else None
    if np is None:
        return [predict(row) for row in rows_of(data)]
    columns = columns_of(np, data, len(COLUMNS), USED)
    return [CLASSES[k] for k in in_blocks(np, decide_many, columns, length_of(data))]


def decide_many(np: Any, n: int, capital_gain: Any, veteran: Any) -> Any:
    """`decide` for n rows at once, on columns of numpy."""
    p1 = (
        # raf71c0
        np.where(capital_gain > 5100.000244140625, 0.19999999999999996, 1.0)
        # rc42c4e
        * np.where(~(veteran <= 0.5), 0.4, 1.0)
    )
    total1 = np.zeros(n)
    # raf71c0
    total1 = total1 + np.where(capital_gain > 5100.000244140625, 1.6094379124341005, 0.0)
    # rc42c4e
    total1 = total1 + np.where(~(veteran <= 0.5), 0.916290731874155, 0.0)
    return count(np, (1.0 - p1 > 0.5, total1 > 2.302585092994046))


# How cells are read, and the arithmetic -- the same in every module -------------------------------------------------

# sha256 c91964cd35b5e87b86fcd7548ac5328e7fbc8c89c1968493f13628188b91bc24

# Rows at the edges of the rules, with the model's answers: --self-test -----------------------------------------------

# Of each column of USED the cells that the rows are made of.
TEST_CELLS: tuple[tuple[Any, ...], ...] = (
    (nan, -inf, inf, 0.0, 5100.000244140625, 5100.000244140626),
    (nan, 0.0, 1.0),
)

# Probabilities of the classes.
TEST_CHANCES: tuple[tuple[float, ...], ...] = (
    (0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0),
)

# Rows: the number of the class, of its probabilities, and of each cell.
TEST_ROWS: tuple[tuple[int, ...], ...] = (
# sha256 093849f7d16eb1ba65bf05feeef2c59cba1e57ba7124cf90be8e9ca23b9081ab

)


# sha256 722677e311f664a7e0a24603ea83c06ad50e6fa9cb0400cf89e8f79a3051c228

# The same rules in the rule language, from which rulekit reads this module (never by running it).
# rules: begin
# sha256 6fe2a89a719b61a43f6c626544708a63ea46a762091c72751d815137253921cd

# rules: end
