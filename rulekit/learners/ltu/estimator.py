"""LTUTreeClassifier and MadalineClassifier (M. Sahami, Learning Non-Linearly Separable Boolean Functions)."""

from __future__ import annotations

from rulekit.learners.base import RuleClassifier
from rulekit.learners.ltu.learner import LTUTrees
from rulekit.learners.ltu.madaline import Madaline, MadaWinnow


class LTUTreeClassifier(RuleClassifier, LTUTrees):
    """A small tree of linear threshold units, each of which reads several columns at once.

    A unit fires where the sum of its weights reaches its threshold, which where all weights are equal reads as "at
    least 4 of these 5 conditions". Most tables need one to three units. Units are found from the moments of the rows,
    fitted together, pruned, and rid of weights that do not help on held-out rows; `node` takes the units of the paper
    in their place. Numbers are weighed as they are, in the user's units. The reported probability is that of the path
    which a row takes.
    """


class MadalineClassifier(RuleClassifier, Madaline):
    """A network of linear threshold units that learns row by row, as in Sahami's paper.

    Its units form a tree, by default that of an LTU tree. A row that is answered wrongly changes the units on its path:
    their weights go up or down by the row itself. Units that decide nothing are left out, and `history_` names them
    under "unused", with what each pass erred. Of several networks, which see the rows in different orders, the one is
    kept that errs least in a cross-validation.
    """


class MadaWinnowClassifier(RuleClassifier, MadaWinnow):
    """A network of linear threshold units whose weights are multiplied and divided (N. Littlestone's Winnow, 1988).

    Take it where there are very many conditions of which few matter. Numbers are cut into conditions at the borders of
    their bins. Else it is as MadalineClassifier.
    """
