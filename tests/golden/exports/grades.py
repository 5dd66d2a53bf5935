# sha256 5f8c05c72fc0aa28e6d832596963b3064552ff879e52ed2128b609dc5e08c505

DIGEST = "008324ab523cb45105e7c06f60cbe1fd7b1c368e234760508853596d9b2e45ac"
CLASSES = ("low", "mid", "high")
# All columns, in schema order.
COLUMNS = ("age", "capital_gain", "education_num", "marital_status", "veteran", "grade", "since", "account")
# Columns that the rules read: position, name, kind, texts that mean missing (beside the empty one).
USED: tuple[Used, ...] = (
    (0, "age", "number", ()),
    (4, "veteran", "flag", ()),
    (5, "grade", "level", ("?",)),
    (6, "since", "day", ()),
)
GRADE_KNOWN = frozenset({None, "", "?", "1", "2", "3"})


def decide(row: Any) -> int:
    """Class index of a row, a mapping by column name."""
    grade = row["grade"]
    if type(grade) is not str or grade not in GRADE_KNOWN:
        grade = level(grade, GRADE_KNOWN)
    # rdf8cb6: age > 30.5 and veteran
    if row["age"] > 30.500000953674316 and row["veteran"] > 0.5:
        return 1
    # r289fb7: grade in {"1"}
    if grade in {"1"}:
        return 1
    # r818183: (age <= 30.5 or missing)
    if not row["age"] > 30.500000953674316:
        return 0
    # rc96c6d: since > 2002-11-09
    if row["since"] > 12000.00048828125:
        return 2
    return 2


def probabilities(row: Any) -> list[float]:
    """Probability of each class; the row as for `decide`."""
    return one_hot(decide(row), 3)


# sha256 58f844d3328a21c2cbf53ffdfe8f7040b216c1f9c605ad08bf9c3231fe839f63


def decide_many(np: Any, n: int, age: Any, veteran: Any, grade: Any, since: Any) -> Any:
    """`decide` for n rows at once, on columns of numpy."""
    grade = levels_of(grade, GRADE_KNOWN)
    chosen = np.full(n, 2)
    chosen = np.where(since > 12000.00048828125, 2, chosen)
    chosen = np.where(~(age > 30.500000953674316), 0, chosen)
    chosen = np.where(
        (
            # rdf8cb6
            ((age > 30.500000953674316) & (veteran > 0.5))
            # r289fb7
            | among(np, grade, {"1"})
        ),
        1,
        chosen,
    )
    return chosen


# How cells are read, and the arithmetic -- the same in every module -------------------------------------------------

# sha256 eee2fb61fc4a3534258b6085d30667c87f3b51a148a4d0f16b34b1e7f09aa3ec

# Rows at the edges of the rules, with the model's answers: --self-test -----------------------------------------------

# sha256 6fd1e52639484325a0c2aeb38bfd980eb8422614a4aa25197faa21a8ac0f9b46

# The same rules in the rule language, from which rulekit reads this module (never by running it).
# rules: begin
# sha256 5c377879f318743b4d092d65e5708e7673ee62e8fcf6f32049b8965b6bc82618

# rules: end
