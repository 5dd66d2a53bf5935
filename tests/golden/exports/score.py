# sha256 f0806b4978f806bfb029dcf009343160553c1dda9af103d38cac1e2d2def88e6

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


# sha256 a1c9b76cc219ea68f2a3778611400622db0f239562a47cc8a2b0f6697033f797


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

# sha256 6743d7ef46103a520244823e2fde93553095b776dd54a635a837b462f9017d3c

# Rows at the edges of the rules, with the model's answers: --self-test -----------------------------------------------

# sha256 e0603ef2616366d33cd604b1a31fc409d837d3bcaa073d9500176158da54e344

# The same rules in the rule language, from which rulekit reads this module (never by running it).
# rules: begin
# sha256 0d7e1f0c7ec6d7c1dcf158b949dd2f18d56a8b14d78302ca5dd25e6fecd15488

# rules: end
