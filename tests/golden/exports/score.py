"""A rule model that decides "income", in plain Python (made by rulekit).

classes
    False
    True
columns that the rules read
    "age" (numeric)
    "veteran" (boolean)
    "grade" (categorical)
    "since" (numeric, date)
    "account" (numeric)

predict(row) gives the label, predict_proba(row) the probability of each class. A row is a mapping by
column name, or a sequence of all columns in the order of COLUMNS; None, NaN and the empty text are
missing. predict_many(data) takes rows, a mapping of columns, a data frame or an array, and is fast
where numpy is installed. Nothing but the standard library is needed.

Command line: python THIS.py < rows.csv > predictions.csv, or with --self-test or --help.

digest 41dba392c94d5cc9fcdf7e47bff3434e39e7d9be20cae87c93749a47a86dea24
"""

from __future__ import annotations

# sha256 a5aa71ba298aca541d47e69fe805aadbd2e5f6d45d6396f4ac5ecba293c6b964

DIGEST = "41dba392c94d5cc9fcdf7e47bff3434e39e7d9be20cae87c93749a47a86dea24"
CLASSES = (False, True)
# All columns, in schema order.
COLUMNS = ("age", "capital_gain", "education_num", "marital_status", "veteran", "grade", "since", "account")
# Columns that the rules read: position, name, kind, texts that mean missing (beside the empty one).
USED: tuple[Used, ...] = (
    (0, "age", "number", ()),
    (4, "veteran", "flag", ()),
    (5, "grade", "level", ("?",)),
    (6, "since", "day", ()),
    (7, "account", "number", ("-999",)),
)
GRADE_KNOWN = frozenset({None, "", "?", "1", "2", "3"})
AGE_CUTS = (20.500000953674316, 40.50000190734863)
AGE_VALUES = (-0.5, 0.25, 0.75)


def decide(row: Any) -> int:
    """Class index of a row, a mapping by column name."""
    grade = row["grade"]
    account = row["account"].__float__()
    if type(grade) is not str or grade not in GRADE_KNOWN:
        grade = level(grade, GRADE_KNOWN)
    if account in (-999.0,):
        account = nan
    total1 = -0.25
    total1 += AGE_VALUES[bisect_left(AGE_CUTS, row["age"])] if row["age"] <= inf else -0.125
    # rce0d92: veteran
    if row["veteran"] > 0.5:
        total1 += 0.5
    # r608fc8: grade not in {"1"}
    if grade in {"2", "3"}:
        total1 += -0.25
    total1 += 0.125 * clipped(account, 0.0, -4.0, 4.0, 0.25)
    # re17c7d: since is missing
    if not row["since"] <= inf:
        total1 += 0.375
    return 1 if total1 > 0.0 else 0


def probabilities(row: Any) -> list[float]:
    """Probability of each class; the row as for `decide`."""
    grade = row["grade"]
    account = row["account"].__float__()
    if type(grade) is not str or grade not in GRADE_KNOWN:
        grade = level(grade, GRADE_KNOWN)
    if account in (-999.0,):
        account = nan
    total1 = -0.25
    total1 += AGE_VALUES[bisect_left(AGE_CUTS, row["age"])] if row["age"] <= inf else -0.125
    # rce0d92
    if row["veteran"] > 0.5:
        total1 += 0.5
    # r608fc8
    if grade in {"2", "3"}:
        total1 += -0.25
    total1 += 0.125 * clipped(account, 0.0, -4.0, 4.0, 0.25)
    # re17c7d
    if not row["since"] <= inf:
        total1 += 0.375
    positive = logistic(total1)
    return [1.0 - positive, positive]


def predict(row: Any) -> bool:
    """Label of a row; raises KeyError for an absent column, ValueError for an unreadable cell."""
    try:
        match row:
            case {}:  # any mapping
                return CLASSES[decide(row)]
            case [*_] if len(row) == 8:  # no array, which has other numbers
                # `decide` once more, on places: to name the cells first would take longer than the rules.
                grade = row[5]
                account = row[7].__float__()
                if type(grade) is not str or grade not in GRADE_KNOWN:
                    grade = level(grade, GRADE_KNOWN)
                if account in (-999.0,):
                    account = nan
                total1 = -0.25
                total1 += AGE_VALUES[bisect_left(AGE_CUTS, row[0])] if row[0] <= inf else -0.125
                # rce0d92
                if row[4] > 0.5:
                    total1 += 0.5
                # r608fc8
                if grade in {"2", "3"}:
                    total1 += -0.25
                total1 += 0.125 * clipped(account, 0.0, -4.0, 4.0, 0.25)
                # re17c7d
                if not row[6] <= inf:
                    total1 += 0.375
                return CLASSES[1] if total1 > 0.0 else CLASSES[0]
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
                grade = row[5]
                account = row[7].__float__()
                if type(grade) is not str or grade not in GRADE_KNOWN:
                    grade = level(grade, GRADE_KNOWN)
                if account in (-999.0,):
                    account = nan
                total1 = -0.25
                total1 += AGE_VALUES[bisect_left(AGE_CUTS, row[0])] if row[0] <= inf else -0.125
                # rce0d92
                if row[4] > 0.5:
                    total1 += 0.5
                # r608fc8
                if grade in {"2", "3"}:
                    total1 += -0.25
                total1 += 0.125 * clipped(account, 0.0, -4.0, 4.0, 0.25)
                # re17c7d
                if not row[6] <= inf:
                    total1 += 0.375
                positive = logistic(total1)
                return [1.0 - positive, positive]
    except (AttributeError, TypeError, LookupError):  # missing or textual cells, absent columns
        pass
    return probabilities(cells(row, len(COLUMNS), USED))


def predict_many(data: Any) -> list[bool]:
    """Labels of rows, of a mapping or frame of columns, or of a two-dimensional array."""
    by_column = hasattr(data, "keys") or hasattr(data, "shape")
    np = numpy_or_none() if by_column else None
    if np is None:
        return [predict(row) for row in rows_of(data)]
    columns = columns_of(np, data, len(COLUMNS), USED)
    return [CLASSES[k] for k in in_blocks(np, decide_many, columns, length_of(data))]


def decide_many(np: Any, n: int, age: Any, veteran: Any, grade: Any, since: Any, account: Any) -> Any:
    """`decide` for n rows at once, on columns of numpy."""
    grade = levels_of(grade, GRADE_KNOWN)
    account = blanked(np, account, (-999.0,))
    total1 = np.full(n, -0.25)
    total1 = total1 + stepped(np, age, AGE_CUTS, AGE_VALUES, -0.125)
    # rce0d92
    total1 = total1 + np.where(veteran > 0.5, 0.5, 0.0)
    # r608fc8
    total1 = total1 + np.where(among(np, grade, {"2", "3"}), -0.25, 0.0)
    total1 = total1 + 0.125 * clipped_column(np, account, 0.0, -4.0, 4.0, 0.25)
    # re17c7d
    total1 = total1 + np.where(~(since <= inf), 0.375, 0.0)
    positive = total1 > 0.0
    return np.where(positive, 1, 0)


# How cells are read, and the arithmetic -- the same in every module -------------------------------------------------

# sha256 cd473a0bdda8ce058d0c24bbc47109e33926d66451337c4ecf2ec7d37a708832

# Rows at the edges of the rules, with the model's answers: --self-test -----------------------------------------------

# Of each column of USED the cells that the rows are made of.
TEST_CELLS: tuple[tuple[Any, ...], ...] = (
    (nan, -inf, inf, 0.0, 20.500000953674316, 20.50000095367432, 40.50000190734863, 40.50000190734864),
    (nan, 0.0, 1.0),
    (None, "never seen", "3.0", "2", "1", "3"),
    (nan, -inf, inf, 0.0),
    (nan, -inf, inf, 0.0, 4.0, -4.0, -3.625, -999.0, 8.0),
)

# Probabilities of the classes.
TEST_CHANCES: tuple[tuple[float, ...], ...] = (
    (0.5, 0.5), (0.7772998611746912, 0.22270013882530884), (0.18242552380635635, 0.8175744761936437),
    (0.679178699175393, 0.320821300824607), (0.5621765008857981, 0.43782349911420193),
    (0.6224593312018546, 0.3775406687981454), (0.43782349911420193, 0.5621765008857981),
    (0.3775406687981454, 0.6224593312018546), (0.4687906266262437, 0.5312093733737563),
    (0.5926665999540697, 0.40733340004593027), (0.5312093733737562, 0.46879062662624377),
    (0.29421497216298875, 0.7057850278370112), (0.3486451353339458, 0.6513548646660542),
    (0.13296424019782938, 0.8670357598021706), (0.7057850278370112, 0.29421497216298875),
    (0.6926419831347361, 0.30735801686526387), (0.24508501313237174, 0.7549149868676283),
    (0.4073334000459303, 0.5926665999540697), (0.5774953651858117, 0.4225046348141883),
    (0.5156199157230156, 0.4843800842769844), (0.2018132222603788, 0.7981867777396212),
    (0.7662936430859597, 0.2337063569140403), (0.6513548646660543, 0.34864513533394575),
    (0.2814056074291439, 0.7185943925708561),
)

# Rows: the number of the class, of its probabilities, and of each cell.
TEST_ROWS: tuple[tuple[int, ...], ...] = (
# sha256 4c03ad744316f5d8b5eea149d63e425bd025b8db75ae9c056102b1aa9b1c3adc

)


# sha256 722677e311f664a7e0a24603ea83c06ad50e6fa9cb0400cf89e8f79a3051c228

# The same rules in the rule language, from which rulekit reads this module (never by running it).
# rules: begin
# sha256 0d7e1f0c7ec6d7c1dcf158b949dd2f18d56a8b14d78302ca5dd25e6fecd15488

# rules: end
