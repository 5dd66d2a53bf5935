"""What a notebook shows: whole pages that hold every rule, whatever the columns are called."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cnll_cases import loan_rows
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit import CNLLClassifier, Feature, RulesClassifier, Schema, export, load, rules_frame, show
from rulekit.conformance.models import NODES, random_graph
from rulekit.errors import InputError
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Among, And, Compare
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.learners.data.inputs import Array
from rulekit.names import printable
from rulekit.notebook.display import error_text
from rulekit.shown.statistics import rule_statistics
from rulekit.verification.parity import verify

TAGS = {"div", "style", "table", "tr", "th", "td", "span", "details", "summary", "svg", "line", "circle"}
ATTRIBUTES = {"class", "style", "width", "height", "viewbox", "role", "aria-label", "colspan"}
ATTRIBUTES |= {"x1", "x2", "y1", "y2", "cx", "cy", "r", "fill", "stroke", "stroke-width", "stroke-opacity"}


class Page(HTMLParser):
    """Balanced tags of the page's own making, and the text between them."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS
        assert {name for name, _ in attrs} <= ATTRIBUTES
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data * (self.open[-1:] != ["style"])

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


HOSTILE = st.text(min_size=1, max_size=12) | st.sampled_from(
    ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}", "</style><b>", "\u202eabc", "&lt;"]
)


@settings(max_examples=12, deadline=None)
@given(HOSTILE, HOSTILE, HOSTILE)
def test_hostile_names_stay_text(column: str, level: str, label: str) -> None:
    """In every place where a name can stand: headings, conditions, attributes of pictures, counter-examples."""
    schema = Schema((Feature(column), Feature(f"{column}2", "categorical", (level,))), label)
    formula = And([Compare(column, ">", 0.5), Among(f"{column}2", (level,))])
    graph = RuleGraph(schema, ("no", label + "!"), Fires(formula))
    table = graph.table([{column: i, f"{column}2": level} for i in range(3)])
    graph = graph.with_(statistics=rule_statistics(graph, table, np.array([0, 0, 1])))
    shown = Page(graph._repr_html_()).text
    assert printable(label) in shown
    assert "of 2 rows" in shown
    other = graph.with_(decision=Fires(Compare(column, ">", 0.5)))
    report = verify(graph, str(other).encode(), target="text", rows=40, proving=False)
    found = Page(report._repr_html_()).text
    assert "DIFFERENT" in found
    assert printable(column) in found
    unfitted = RulesClassifier(types={column: level})
    assert printable(repr({column: level})) in Page(unfitted._repr_html_()).text


@pytest.mark.parametrize("name", [*NODES, *range(25)])
def test_every_model_is_shown_whole(name: str | int) -> None:
    graph = NODES[name]() if isinstance(name, str) else random_graph(np.random.default_rng(name))
    shown = Page(graph._repr_html_()).text
    rules = rules_of(graph)
    assert all(rule.id in shown for rule in rules)
    frame = rules_frame(graph)
    assert frame["id"].to_list() == [rule.id for rule in rules]
    assert frame["literals"].to_list() == [min(rule.literals, 2**53) for rule in rules]
    assert rules_frame(graph, "pandas")["rule"].tolist() == frame["rule"].to_list()
    assert "\n" not in repr(graph)
    assert len(repr(graph)) < 500


@pytest.fixture(scope="module")
def fitted() -> tuple[RulesClassifier, Array, Array]:
    X, y = loan_rows(300)
    return RulesClassifier(6, positive="yes", n_folds=3, parsimony=1).fit(X, y), X, y


def test_an_estimator_shows_its_rules_and_its_error(fitted: Any) -> None:
    model = fitted[0]
    shown = Page(model._repr_html_()).text
    error, deviation, _ = model.path_.errors[model.path_.size]
    assert f"{100 * error:.1f} % ± {100 * deviation:.1f}" in shown
    assert "positive'yes'" in shown.replace("\n", "")
    assert all(rule.id in shown for rule in rules_of(model.rule_graph_))
    assert model._repr_mimebundle_()["text/html"] == model._repr_html_()
    assert "every parameter as by default" in Page(RulesClassifier()._repr_html_()).text
    sizes = Page(model.path_._repr_html_()).text
    assert sizes.count("taken") == 1
    assert len(repr(model.path_)) < 200
    ladder = model.ladder_
    rows = Page(ladder._repr_html_()).text
    assert rows.count("taken") == 1
    assert all(error_text(rung.error, rung.standard_error) in rows for rung in ladder.rungs)
    assert len(repr(ladder)) < 300
    assert model.path_.choice in repr(model.path_)
    assert all("<A" not in str(step) for step in model.history_)
    grown = CNLLClassifier(3, stopping="none").fit(*loan_rows(300)).history_
    assert all(isinstance(step["condition"], str) and "<A" not in step["condition"] for step in grown)


def test_a_frame_has_the_figures_of_each_rule(fitted: Any) -> None:
    model, X, y = fitted
    graph = model.rule_graph_
    held = rule_statistics(graph, graph.table(X), (np.asarray(y) == "yes").astype(int))
    frame = rules_frame(graph.with_(statistics={**graph.statistics, "held_out": held}))
    assert frame["rows"].equals(frame["held_out_rows"].alias("rows"))
    assert ((frame["low"] <= frame["right"]) & (frame["right"] <= frame["high"])).all()
    assert frame["right"].to_list() == [rule["precision"] for rule in held["rules"]]
    assert rules_frame(graph)["held_out_right"].null_count() == len(frame)
    with pytest.raises(InputError, match="polars or pandas"):
        rules_frame(graph, "spark")


def test_rules_are_shown_where_the_reader_is(
    fitted: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = fitted[0].rule_graph_
    show(graph, width=100)
    assert "otherwise" in capsys.readouterr().out
    cells: list[Any] = []
    display = SimpleNamespace(HTML=lambda text: text, display=cells.append)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1)))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    show(graph)
    assert cells == [graph._repr_html_()]
    assert capsys.readouterr().out == ""


def test_a_report_says_what_was_proved(fitted: Any, tmp_path: Any) -> None:
    graph = fitted[0].rule_graph_
    export(graph, tmp_path / "m.py", to="python")
    report = verify(graph, tmp_path / "m.py", rows=50)
    assert "proved" in Page(report._repr_html_()).text
    assert repr(report).startswith("<Report python: verified, proved")
    assert load(tmp_path / "m.py") == graph
