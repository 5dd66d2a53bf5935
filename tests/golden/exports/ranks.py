# sha256 39c27e166c455af5d63b79508f2bbd858edca7c8f965d438873888928adfaae8

DIGEST = "a4d13f1230f05302bf72b4e5be9686fd8f7fd65be8fb6431bcd0ec67438bb7fb"
CLASSES = (1, 2, 3)
COLUMNS = ("age", "capital_gain", "education_num", "marital_status", "veteran", "grade", "since", "account")
# Columns that the rules read: name, kind, texts that mean missing.
USED: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("capital_gain", "number", ()),
    ("veteran", "flag", ()),
)


def decide(capital_gain: Any, veteran: Any) -> int:
    """Class index of a row; the cells as `read` gives them."""
    p1 = (
        # raf71c0: a fires with probability 0.8 when capital_gain > 5,100 USD
        (0.19999999999999996 if capital_gain > 5100.000244140625 else 1.0)
        # rc42c4e: b fires with probability 0.6 when (veteran or missing)
        * (0.4 if not veteran <= 0.5 else 1.0)
    )
    total1 = 0.0
    # raf71c0: a fires with probability 0.8 when capital_gain > 5,100 USD
    if capital_gain > 5100.000244140625:
        total1 += 1.6094379124341005
    # rc42c4e: b fires with probability 0.6 when (veteran or missing)
    if not veteran <= 0.5:
        total1 += 0.916290731874155
    return sum((1.0 - p1 > 0.5, total1 > 2.302585092994046))


def probabilities(capital_gain: Any, veteran: Any) -> list[float]:
    """Probability of each class; the cells as for `decide`."""
    return one_hot(decide(capital_gain, veteran), 3)


# sha256 ded020dc7a758e32171c3a8bd55242743124ce34f0d7ee84b8029161ba631f22


# How cells are read, and the arithmetic -- the same in every module ---------

# sha256 7f8b8c17dbfd00f49229d8cd6f3510d9f9417f0e40df4ff64be1ac48df209555

# Rows at the edges of the rules, with the model's answers: --self-test -----------------------------------------------

# sha256 033c972e8ce94d37c65562e62ce566daae9d6824d65f9c2e7f1010ec7b35d1bd

# The same rules in the rule language, from which rulekit reads this module (never by running it).
# rules: begin
# sha256 6fe2a89a719b61a43f6c626544708a63ea46a762091c72751d815137253921cd

# rules: end
