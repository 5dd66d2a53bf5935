# sha256 382c35020d7a501a207d5aad0eacea292f6fdf5ed75d68b77b4b80bfceafaa0e

DIGEST = "4fdba6fd4d0f0dcaa56d69abd2cbd1ce7fd8e88b83430671bbaebf87e2b1e76d"
CLASSES = ("no", "yes")
COLUMNS = ("job", "income", "late", "owner")
# Columns that the rules read: name, kind, texts that mean missing.
USED: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("job", "word", ()),
    ("income", "number", ()),
    ("late", "number", ()),
    ("owner", "flag", ()),
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


def decide(job: Any, income: Any, late: Any, owner: Any) -> int:
    """Class index of a row; the cells as `read` gives them."""
    total1 = 0.0
    total1 += JOB_POINTS.get(job, 1.0)
    total1 += INCOME_VALUES[bisect_left(INCOME_CUTS, income)] if income <= inf else 1.0
    # r8baf2d: late > 2 and not owner
    if late > 2.0000001192092896 and owner <= 0.5:
        total1 += 4.0
    # r620619: late <= 0 or late is missing
    if late <= 7.006492321624085e-46 or not late <= inf:
        total1 += -2.0
    return 1 if total1 > 2.5 else 0


def probabilities(job: Any, income: Any, late: Any, owner: Any) -> list[float]:
    """Probability of each class; the cells as for `decide`."""
    total1 = 0.0
    total1 += JOB_POINTS.get(job, 1.0)
    total1 += INCOME_VALUES[bisect_left(INCOME_CUTS, income)] if income <= inf else 1.0
    # r8baf2d
    if late > 2.0000001192092896 and owner <= 0.5:
        total1 += 4.0
    # r620619
    if late <= 7.006492321624085e-46 or not late <= inf:
        total1 += -2.0
    total2 = -1.125
    total2 += 0.375 * total1
    positive = logistic(total2)
    return [1.0 - positive, positive]


# sha256 7f09fd43d089a242f37f76fe770a7b25a7195e6cd92541417cbc4c119b7473e0


# How cells are read, and the arithmetic -- the same in every module ---------

# sha256 18847ceff73a6dcb67ec157e127ff5fa8f8d49bf9ccea76df59dcf8b7903eab5

# Rows at the edges of the rules, with the model's answers: --self-test -----------------------------------------------

# sha256 904b09438c2ea29ef39ebe4dc5918d61c9e56ac350a116a8e323f88dd8767feb

# The same rules in the rule language, from which rulekit reads this module (never by running it).
# rules: begin
# sha256 a400bc2c6218fb6209331da4582ab00e104ce859faf544afa909d28778cd3195

# rules: end
