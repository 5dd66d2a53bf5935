# sha256 b692fa08363afa72f5bd7f31701c52ad7098fd4f4fdbe5bd3ae1c0bfb140c274

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
    total1 = 0.0
    # r0fcc97
    if row["capital_gain"] > 5100.000244140625:
        total1 += 2.659260036932779
    # r8989d4
    p1 = 0.010050335853501442
    if (
        row["age"] > 28.500000953674316
        and marital_status in {"Married-AF-spouse", "Married-civ-spouse"}
        and row["education_num"] > 12.500000476837158
    ):
        p1 = 1.203972804325936
    total1 += p1
    positive = exponentials(0.0, total1)
    return [1.0 - positive, positive]


# sha256 c2def15edaf9362ffc73dd0819b76268c4e9acd81a38bb13d7fd3c2242296294


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

# sha256 8656b9a762157bbadfba78e2feb60b78917ef17f4aa8b861ed65b81e7cca4638

# Rows at the edges of the rules, with the model's answers: --self-test -----------------------------------------------

# sha256 8fffd81506ecefcf2a47c9a034b1813a2e0d65d855fe17d253be570d09dfdb06

# The same rules in the rule language, from which rulekit reads this module (never by running it).
# rules: begin
# sha256 134808447df0094df3fd8dbb3e853fbe9355716c3d7caa795ad41c4c3b5f4441

# rules: end
