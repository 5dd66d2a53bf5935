# sha256 b7545ec7645dbfd0a5d4e45719879142fe5fcb3de8336c6d5b62956bf7d7e3ae

DIGEST = "008324ab523cb45105e7c06f60cbe1fd7b1c368e234760508853596d9b2e45ac"
CLASSES = ("low", "mid", "high")
COLUMNS = ("age", "capital_gain", "education_num", "marital_status", "veteran", "grade", "since", "account")
# Columns that the rules read: name, kind, texts that mean missing.
USED: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("age", "number", ()),
    ("veteran", "flag", ()),
    ("grade", "level", ("?",)),
    ("since", "day", ()),
)
GRADE_KNOWN = frozenset({None, "", "?", "1", "2", "3"})


def decide(age: Any, veteran: Any, grade: Any, since: Any) -> int:
    """Class index of a row; the cells as `read` gives them."""
    if type(grade) is not str or grade not in GRADE_KNOWN:
        grade = level(grade, GRADE_KNOWN)
    # rdf8cb6: age > 30.5 and veteran
    if age > 30.500000953674316 and veteran > 0.5:
        return 1
    # r289fb7: grade in {"1"}
    if grade in {"1"}:
        return 1
    # r818183: (age <= 30.5 or missing)
    if not age > 30.500000953674316:
        return 0
    # rc96c6d: since > 2002-11-09
    if since > 12000.00048828125:
        return 2
    return 2


def probabilities(age: Any, veteran: Any, grade: Any, since: Any) -> list[float]:
    """Probability of each class; the cells as for `decide`."""
    return one_hot(decide(age, veteran, grade, since), 3)


# sha256 682c3e8e19f632cf5297d902aa0a6f6e4856dacc7d8f5f06f0b3e15a2208d52a


# How cells are read, and the arithmetic -- the same in every module ---------

# sha256 e264767994aa667ec68ed19b4d2c66b42748b3dd7bd38e472e50ea1d663ee613

# Rows at the edges of the rules, with the model's answers: --self-test -----------------------------------------------

# sha256 15509500b3efc86969ef7b6eb4232c9864a3e874439113677028a994db4e7087

# The same rules in the rule language, from which rulekit reads this module (never by running it).
# rules: begin
# sha256 5c377879f318743b4d092d65e5708e7673ee62e8fcf6f32049b8965b6bc82618

# rules: end
