# sha256 83c0b01f1d307d37a3912420004297902dbdd2d0f0f3e654b15c4ce05604b930

DIGEST = "41dba392c94d5cc9fcdf7e47bff3434e39e7d9be20cae87c93749a47a86dea24"
CLASSES = (False, True)
COLUMNS = ("age", "capital_gain", "education_num", "marital_status", "veteran", "grade", "since", "account")
# Columns that the rules read: name, kind, texts that mean missing.
USED: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("age", "number", ()),
    ("veteran", "flag", ()),
    ("grade", "level", ("?",)),
    ("since", "day", ()),
    ("account", "number", ("-999",)),
)
GRADE_KNOWN = frozenset({None, "", "?", "1", "2", "3"})
AGE_CUTS = (20.500000953674316, 40.50000190734863)
AGE_VALUES = (-0.5, 0.25, 0.75)


def decide(age: Any, veteran: Any, grade: Any, since: Any, account: Any) -> int:
    """Class index of a row; the cells as `read` gives them."""
    if type(grade) is not str or grade not in GRADE_KNOWN:
        grade = level(grade, GRADE_KNOWN)
    if account in (-999.0,):
        account = nan
    total1 = -0.25
    total1 += AGE_VALUES[bisect_left(AGE_CUTS, age)] if age <= inf else -0.125
    # rce0d92: veteran
    if veteran > 0.5:
        total1 += 0.5
    # r608fc8: grade not in {"1"}
    if grade in {"2", "3"}:
        total1 += -0.25
    total1 += 0.125 * clipped(account, 0.0, -4.0, 4.0, 0.25)
    # re17c7d: since is missing
    if not since <= inf:
        total1 += 0.375
    return 1 if total1 > 0.0 else 0


def probabilities(age: Any, veteran: Any, grade: Any, since: Any, account: Any) -> list[float]:
    """Probability of each class; the cells as for `decide`."""
    if type(grade) is not str or grade not in GRADE_KNOWN:
        grade = level(grade, GRADE_KNOWN)
    if account in (-999.0,):
        account = nan
    total1 = -0.25
    total1 += AGE_VALUES[bisect_left(AGE_CUTS, age)] if age <= inf else -0.125
    # rce0d92
    if veteran > 0.5:
        total1 += 0.5
    # r608fc8
    if grade in {"2", "3"}:
        total1 += -0.25
    total1 += 0.125 * clipped(account, 0.0, -4.0, 4.0, 0.25)
    # re17c7d
    if not since <= inf:
        total1 += 0.375
    positive = logistic(total1)
    return [1.0 - positive, positive]


# sha256 37714dc1f6517e40f911d2fcc2d3b123b9f82dae4939867c3751e846676042d0


# How cells are read, and the arithmetic -- the same in every module ---------

# sha256 b8eaeb0b3b63aae9e98858ca997dc6fa833c2c6c1ac277d578f7d2c36f9af02d

# Rows at the edges of the rules, with the model's answers: --self-test -----------------------------------------------

# sha256 129f2480b42969f30310218129cfd1d114229f2f840b646e2a93724ffc8a0e6a

# The same rules in the rule language, from which rulekit reads this module (never by running it).
# rules: begin
# sha256 0d7e1f0c7ec6d7c1dcf158b949dd2f18d56a8b14d78302ca5dd25e6fecd15488

# rules: end
