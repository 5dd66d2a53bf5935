"""Which options of the command set a parameter of a learner."""

_SPELLED_ALIKE = (
    *("cost", "forbid", "freeze", "memory", "missing", "missing_never_helps", "missing_target", "monotone", "ordered"),
    *("positive", "report", "require", "size", "start", "target", "time", "time_limit", "unseen"),
)
OPTIONS = {
    **{name: f"--{name.replace('_', '-')}" for name in _SPELLED_ALIKE},
    **{"groups": "--group", "precision": "--width", "random_state": "--seed", "roles": "--role"},
    **{"sample_weight": "--weight", "types": "--type", "units": "--unit", "callback": "", "verbose": ""},
}
"""By parameter of an estimator or of its fit the option of the command that sets it; "" where none does."""
