# sha256 778c42c36fb5fbdee3f8fd4cd873c773f2d55dc391688ff1c742be99f914caae

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


# sha256 57a58c5bf92722def294a96c179024c5d1991c8ed1e2c7d9ca5e736f93142201


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

# sha256 81ae0de80a1da5e39f2052035983330963c7f71b4b14bfd79072702dfac662f2

# Rows at the edges of the rules, with the model's answers: --self-test -----------------------------------------------

# sha256 28602223eaf342e0f2ba1e02f1ab150e59c9085072fa37856804b294c8c07a13

# The same rules in the rule language, from which rulekit reads this module (never by running it).
# rules: begin
# sha256 6fe2a89a719b61a43f6c626544708a63ea46a762091c72751d815137253921cd

# rules: end
