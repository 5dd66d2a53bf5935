# sha256 66b2878f1b9e7085b4fd778a95bcde3b211ffa792f1691c8fc746ccc217de5f6

DIGEST = "9c27512561e672bcead96fda19174ca304c28a65501bc23abe3175ad54608fd0"
CLASSES = ("<=50K", ">50K")
COLUMNS = ("age", "capital_gain", "education_num", "marital_status", "veteran", "grade", "since", "account")
# Columns that the rules read: name, kind, texts that mean missing.
USED: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("age", "number", ()),
    ("capital_gain", "number", ()),
    ("education_num", "number", ()),
    ("marital_status", "word", ()),
)


def decide(age: Any, capital_gain: Any, education_num: Any, marital_status: Any) -> int:
    """Class index of a row; the cells as `read` gives them."""
    # r0fcc97: capital_gain > 5,100 USD
    if capital_gain > 5100.000244140625:
        return 1
    # r8989d4: age > 28.5 and marital_status in {Married-AF-spouse, Married-civ-spouse} and education_num > 12.5
    if (
        age > 28.500000953674316
        and marital_status in {"Married-AF-spouse", "Married-civ-spouse"}
        and education_num > 12.500000476837158
    ):
        return 1
    return 0


def probabilities(age: Any, capital_gain: Any, education_num: Any, marital_status: Any) -> list[float]:
    """Probability of each class; the cells as for `decide`."""
    total1 = 0.0
    # r0fcc97
    if capital_gain > 5100.000244140625:
        total1 += 2.659260036932779
    # r8989d4
    p1 = 0.010050335853501442
    if (
        age > 28.500000953674316
        and marital_status in {"Married-AF-spouse", "Married-civ-spouse"}
        and education_num > 12.500000476837158
    ):
        p1 = 1.203972804325936
    total1 += p1
    positive = exponentials(0.0, total1)
    return [1.0 - positive, positive]


# sha256 109af487e99aeba11cfe9e73c2eb99baf3171470511cc41b74f9b3271e35cb79


# How cells are read, and the arithmetic -- the same in every module ---------

# sha256 8bcac8f5b72a30d129d178754f8ac8a63046e7b6081748547d6033fed922a3d2

# Rows at the edges of the rules, with the model's answers: --self-test -----------------------------------------------

# sha256 93036c2710376b1e7fd5ff5ad126dd058c650f8170ef68ac01bff7046ffe96df

# The same rules in the rule language, from which rulekit reads this module (never by running it).
# rules: begin
# sha256 134808447df0094df3fd8dbb3e853fbe9355716c3d7caa795ad41c4c3b5f4441

# rules: end
