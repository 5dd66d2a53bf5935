# sha256 b3e284b6ba52903898b9c18fb57ea355dc8a2909d644d166748d10b897c9ba2a

DIGEST = "4fdba6fd4d0f0dcaa56d69abd2cbd1ce7fd8e88b83430671bbaebf87e2b1e76d"
CLASSES = ("no", "yes")
# All columns, in schema order.
COLUMNS = ("job", "income", "late", "owner")
# Columns that the rules read: position, name, kind, texts that mean missing (beside the empty one).
USED: tuple[Used, ...] = (
    (0, "job", "level", ()),
    (1, "income", "number", ()),
    (2, "late", "number", ()),
    (3, "owner", "flag", ()),
)
# Total of the points, and the probability of "yes".
TOTALS = (
    (-11.0, 0.00522013), (-9.0, 0.0109869), (-6.0, 0.033086), (-5.0, 0.0474259), (-4.0, 0.0675467), (-3.0, 0.0953495),
    (-1.0, 0.182426), (0.0, 0.245085), (1.0, 0.320821), (2.0, 0.407333), (3.0, 0.5), (4.0, 0.592667), (5.0, 0.679179),
    (6.0, 0.754915), (7.0, 0.817574), (8.0, 0.867036), (9.0, 0.904651), (10.0, 0.932453), (11.0, 0.952574),
    (13.0, 0.977023),
)
JOB_POINTS = {None: 0.0, "": 0.0, "clerk": 3.0, "cook": 3.0, "driver": 0.0, "ship's mate": -5.0}
INCOME_CUTS = (900.0000305175781, 2500.5001220703125)
INCOME_VALUES = (6.0, 2.0, -4.0)


def decide(row: Any) -> int:
    """Class index of a row, a mapping by column name."""
    job = row["job"]
    late = row["late"]
    if type(job) is not str:
        job = level(job)
    total1 = 0.0
    total1 += JOB_POINTS.get(job, 1.0)
    total1 += INCOME_VALUES[bisect_left(INCOME_CUTS, row["income"])] if row["income"] <= inf else 1.0
    # r8baf2d: late > 2 and not owner
    if late > 2.0000001192092896 and row["owner"] <= 0.5:
        total1 += 4.0
    # r620619: late <= 0 or late is missing
    if late <= 7.006492321624085e-46 or not late <= inf:
        total1 += -2.0
    return 1 if total1 > 2.5 else 0


def probabilities(row: Any) -> list[float]:
    """Probability of each class; the row as for `decide`."""
    job = row["job"]
    late = row["late"]
    if type(job) is not str:
        job = level(job)
    total1 = 0.0
    total1 += JOB_POINTS.get(job, 1.0)
    total1 += INCOME_VALUES[bisect_left(INCOME_CUTS, row["income"])] if row["income"] <= inf else 1.0
    # r8baf2d
    if late > 2.0000001192092896 and row["owner"] <= 0.5:
        total1 += 4.0
    # r620619
    if late <= 7.006492321624085e-46 or not late <= inf:
        total1 += -2.0
    total2 = -1.125
    total2 += 0.375 * total1
    positive = logistic(total2)
    return [1.0 - positive, positive]


# sha256 7077d87d5d6fd38874b189cb23b049f997fdb9b4fb68d21dfb196afcbcdb43a0


def decide_many(np: Any, n: int, job: Any, income: Any, late: Any, owner: Any) -> Any:
    """`decide` for n rows at once, on columns of numpy."""
    job = levels_of(job)
    total1 = np.zeros(n)
    total1 = total1 + pointed(np, job, JOB_POINTS, 1.0)
    total1 = total1 + stepped(np, income, INCOME_CUTS, INCOME_VALUES, 1.0)
    # r8baf2d
    total1 = total1 + np.where((late > 2.0000001192092896) & (owner <= 0.5), 4.0, 0.0)
    # r620619
    total1 = total1 + np.where((late <= 7.006492321624085e-46) | ~(late <= inf), -2.0, 0.0)
    positive = total1 > 2.5
    return np.where(positive, 1, 0)


# How cells are read, and the arithmetic -- the same in every module -------------------------------------------------

# sha256 0308e358ee2a0771e44ea4274083ac628e367c0e0ace77ba25f912f18c7e1a81

# Rows at the edges of the rules, with the model's answers: --self-test -----------------------------------------------

# sha256 9c5497c94ae771bab7375304218d47fcb4ca0060cd467ba6024ce104d1eef9a4

# The same rules in the rule language, from which rulekit reads this module (never by running it).
# rules: begin
# sha256 a400bc2c6218fb6209331da4582ab00e104ce859faf544afa909d28778cd3195

# rules: end
