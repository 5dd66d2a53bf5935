"""LTUTreeClassifier and MadalineClassifier (M. Sahami, Learning Non-Linearly Separable Boolean Functions)."""

from __future__ import annotations

from typing import Any, Self

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


class Incremental(RuleClassifier, Madaline):
    """What both networks have: learning from rows that come part by part."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on learning from further rows, which are seen `n_passes` times.

        The first call makes the columns, their levels, means and deviations, and one network for each question; later
        calls see their rows so, and change nothing but weights: a level that is new is none of the known ones, a
        missing cell a condition that does not hold or the mean, and a column that had one value is not read. After
        `fit` it goes on from the fitted networks. There is one network (`n_networks` and `stopping` are for `fit`), and
        no unit is left out. Reported probabilities, statistics, and the rounding of units are those of the rows of the
        last call, so that a call should bring some hundreds of rows.

        Parameters
        ----------
        X : array [n, d], frame or mapping of columns
            The rows, with the columns of the first call.
        y : array, Series or list [n]
            The labels.
        classes : array [K] or None
            All classes, which the first call has to name; rows of some may come later.
        sample_weight : array [n] or None
            A row of weight 0 is as good as left out.

        Returns
        -------
        Self

        Raises
        ------
        InputError
            Where the data or the parameters do not fit (a ValueError), or with `method="backprop"`.

        """
        return self._with_statistics(*self.partial_fit_rules(X, y, classes, sample_weight))


class MadalineClassifier(Incremental, RuleClassifier):
    """A network of linear threshold units that learns row by row, as in Sahami's paper.

    Its units form a tree, by default that of an LTU tree. A row that is answered wrongly changes the units on its path:
    their weights go up or down by the row itself. Units that decide nothing are left out, and `history_` names them
    under "unused", with what each pass erred. Of several networks, which see the rows in different orders, the one is
    kept that errs least in a cross-validation.
    """


class MadaWinnowClassifier(Incremental, RuleClassifier, MadaWinnow):
    """A network of linear threshold units whose weights are multiplied and divided (N. Littlestone's Winnow, 1988).

    Take it where there are very many conditions of which few matter. Numbers are cut into conditions at the borders of
    their bins. Else it is as MadalineClassifier.
    """
