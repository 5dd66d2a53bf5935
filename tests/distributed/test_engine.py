"""Training on Dask workers writes the model of one process, whoever dies, joins or is asked twice meanwhile."""

from __future__ import annotations

import os
import signal
import threading
import time
import zlib
from concurrent.futures import Future
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("distributed", reason="distributed is not installed: pip install rulekit-portable[dask]")

from rulekit.distributed import engine, orders
from rulekit.distributed.engine import DaskParts, dealt, local_cluster
from rulekit.distributed.meeting import Meeting
from rulekit.errors import InputError
from rulekit.graph.files.writing import to_json
from rulekit.learners.boosting.estimator import AdaBoostStumpClassifier
from rulekit.learners.data.parted import PartedRows
from rulekit.learners.data.training_part import ByPart, TrainingPart, View, class_sums
from rulekit.tables.kinds.inference import infer
from rulekit.tables.labels import LabelledTable


@lru_cache(4)
def table(n, n_classes, weighted):
    rng = np.random.default_rng(n)
    columns = {f"x{i}": rng.normal(size=n).astype(np.float32).round(1) for i in range(4)}
    columns["x0"][rng.random(n) < 0.1] = np.nan
    columns |= {"twin": -columns["x1"], "c": rng.choice(list("abcde"), n)}
    score = np.nan_to_num(columns["x0"]) + columns["x1"] + rng.normal(size=n) * 0.5
    y = np.digitize(score, [-0.5, 0.7][: n_classes - 1])
    weights = rng.integers(0, 5, n) / 2.0 if weighted else None
    return LabelledTable(infer(columns), y, tuple(f"k{k}" for k in range(n_classes)), weights, target="y")


def load(spec, number):
    first, last, *of = spec
    if of[0] == "damaged":
        raise InputError("the end of the file is missing", where=f"rows{number}.parquet", fix="write it again")
    if of[0] == "deadly":
        os.kill(os.getpid(), signal.SIGKILL)
    if of[0] == "broken":
        raise KeyError("x")
    rows = table(*of)
    return TrainingPart(rows.take(np.arange(first, last)), number, 0.0 if rows.weight is None else rows.weight.max())


def specs(n_parts, n=400, n_classes=2, weighted=False):
    cuts = [n * k // n_parts for k in range(n_parts + 1)]
    return [(a, b, n, n_classes, weighted) for a, b in pairwise(cuts)]


def fitted(rows, **how):
    model = AdaBoostStumpClassifier(random_state=0, **{"n_estimators": 8} | how)
    model.fit_rules(rows)
    return model


def file_of(model):
    return to_json(model.rule_graph_), model.path_.errors, model.path_.why


def rows_of(parts):
    return PartedRows(parts, table(*parts.specs[0][2:]).take(np.zeros(0, dtype=int)))


@lru_cache(8)
def one_process(*of):
    return file_of(fitted(table(*of)))


@pytest.fixture(scope="module")
def client():
    with local_cluster(2) as client:
        yield client


class Disturbed(DaskParts):
    """Parts of which something happens to the workers before some trips."""

    before = None

    def _trip(self, *given):
        (self.before or {}).get(self.traffic.trips, lambda parts: None)(self)
        return super()._trip(*given)


def killing(n_workers, after=0.0):
    def kill(parts):
        pids = list(parts.client.run(os.getpid, on_error="ignore").values())[:n_workers]
        for pid in pids:
            threading.Timer(after, os.kill, (pid, signal.SIGKILL)).start()

    return kill


# On a cluster ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_classes", "weighted"), [(2, False), (3, True)])
def test_workers_write_the_model_of_one_process(client, n_classes, weighted):
    of = 400, n_classes, weighted
    for n_parts in (1, 2, 5):
        with DaskParts(client, load, specs(n_parts, *of), rows=[400 // n_parts] * n_parts) as parts:
            assert file_of(fitted(rows_of(parts))) == one_process(*of)
            assert parts.traffic.trips <= 8 + 10 + 3 + 2 * (1 if n_classes == 2 else n_classes)  # rounds, bins, margins
            assert len(set(parts.owner.values())) == min(n_parts, 2)
            assert parts.traffic.orders == parts.traffic.trips * min(n_parts, 2)
            assert parts.traffic.replayed == 0
        assert not any(client.run(known_jobs, parts.job).values())


def known_jobs(job):
    return job in orders._JOBS


def test_workers_may_die_and_join(client):
    before = {3: killing(1), 7: killing(1, 0.01), 14: killing(2), 18: lambda parts: grow(client, 3)}
    with Disturbed(client, load, specs(5, weighted=True)) as parts:
        parts.before = before
        assert file_of(fitted(rows_of(parts), n_estimators=10)) == one_process_of_10()
        assert parts.traffic.replayed > 0
        assert parts.traffic.trips > max(before)
        assert len(set(parts.owner.values())) == 3
    client.cluster.scale(2)


def grow(client, n):
    client.cluster.scale(n)
    client.wait_for_workers(n, timeout=30)
    time.sleep(engine._LOOK)  # until the next trip looks who is there


def one_process_of_10():
    return file_of(fitted(table(400, 2, True), n_estimators=10))


def test_parts_move_and_states_are_lost(client, monkeypatch):
    client.wait_for_workers(2, timeout=30)

    def turn(parts):
        others = dict(zip(parts.threads, [*parts.threads][1:] + [*parts.threads][:1], strict=True))
        parts.owner = {part: others[at] for part, at in parts.owner.items()}

    moves = dict.fromkeys(range(4, 30, 3), turn)
    lost = {trip: lambda parts: client.run(orders.forget, parts.job) for trip in range(5, 30, 6)}
    with Disturbed(client, load, specs(3)) as parts:
        parts.before = moves | lost
        assert file_of(fitted(rows_of(parts))) == one_process(400, 2, False)
        assert parts.traffic.replayed > 20


def test_a_part_may_be_a_frame_that_dask_holds(client):
    with DaskParts(client, of_frame, [(client.submit(part_of, spec, pure=False),) for spec in specs(2)]) as parts:
        assert parts.sum(class_sums, 2)[1][0].sum() == 400


def part_of(spec):
    return load(spec, 0)


def of_frame(spec, number):
    return TrainingPart(spec[0].rows, number)


def test_what_is_wrong_on_a_worker_is_said(client, monkeypatch):
    def asked(*given):
        with DaskParts(client, load, given) as parts:
            parts.each(class_sums, 2)

    with pytest.raises(InputError) as refused:
        asked(*specs(1), (0, 1, "damaged"))
    assert str(refused.value) == "rows1.parquet: the end of the file is missing; write it again"
    with pytest.raises(KeyError) as failed:
        asked(*specs(1), (0, 1, "broken"))
    assert failed.value.__notes__[0].startswith("part 1 of the rows ((0, 1, 'broken')), on worker tcp://")
    other = {**orders.versions(), "numpy": "0.9"}
    monkeypatch.setattr(engine, "versions", lambda: other)
    with pytest.raises(InputError, match=r"worker tcp://\S+ has numpy \S+, the caller 0\.9; install one version"):
        asked(*specs(2))


def test_a_part_over_which_workers_die_is_named(client):
    with (
        DaskParts(client, load, [*specs(3), (0, 1, "deadly")]) as parts,
        pytest.raises(InputError, match=r"part 3 of the rows \(\(0, 1, 'deadly'\)\): lost 3 times: it may need more"),
    ):
        parts.each(class_sums, 2)
    client.wait_for_workers(2, timeout=30)


@pytest.mark.parametrize("how", ["cancelled", "time limit", "interrupted"])
def test_a_stopped_training_leaves_no_thread(client, how):
    began = time.monotonic()

    def stop(said):
        if said.get("unit") != 3:
            return False
        if how == "interrupted":
            signal.raise_signal(signal.SIGINT)
        time.sleep(max(0.0, began + 2.5 - time.monotonic()) if how == "time limit" else 0.0)
        return how == "cancelled"

    with DaskParts(client, load, specs(2)) as parts:
        limit = {"time_limit": 2} if how == "time limit" else {}
        model = fitted(rows_of(parts), n_estimators=200, callback=stop, **limit)
        assert model.rule_graph_.provenance["stopped"] == how
        assert len(model.path_.errors) >= 2
    assert not parts.meeting._running


def test_no_worker_is_one_line(monkeypatch):
    monkeypatch.setattr(engine, "NO_WORKER", 0.5)
    with (
        local_cluster(0) as client,
        DaskParts(client, load, specs(2)) as parts,
        pytest.raises(InputError, match=r"no worker for 0\.5 seconds; start workers"),
    ):
        parts.each(class_sums, 2)


# A worker, without a cluster ------------------------------------------------------------------------------------------


@pytest.fixture
def driver(monkeypatch):
    monkeypatch.setattr(engine, "sent", lambda driver, at, errand: driver.arriving(at, errand))
    return Orders()


def push(part, more):
    part.list = [*getattr(part, "list", []), more]
    return np.array([sum(part.list)])


def summing(problem):
    total = len(problem.labels)
    while True:
        total += yield [np.array([total])]


class Orders:
    """What a driver would send."""

    def __init__(self):
        self.sent, self.jobs = [], {}
        self.parts = DaskParts(self, load, specs(2))
        self.status = "running"
        self.run = self.scheduler_info = lambda *_, **__: {"workers": {"a": {"nthreads": 2, "status": "running"}}}

    def arriving(self, at, errand):
        self.sent.append(orders.loads(errand))
        found = Future()
        found.set_result({at: orders.dumps(self.again())})
        return found

    def again(self, which=-1):
        errand = self.sent[which]
        specs = orders.loads(errand.specs) if errand.specs else {}
        return orders.followed(errand, "a", specs, 2, self.jobs)


def test_what_is_told_twice_is_known_once(driver):
    for k in (1, 10, 100):
        assert [each.tolist() for each in driver.parts.tell(push, k)] == [[int("1" * len(str(k)))]] * 2
        for _ in range(2):
            assert driver.again().found[0].values[1].tolist() == [int("1" * len(str(k)))]
    assert driver.again(1) == orders.Answers(unknown=("a",))  # an order of an earlier trip changes nothing
    assert driver.again().parts == (0, 1)
    assert [each.tolist() for each in driver.parts.tell(push, ByPart([1000, 2000]))] == [[1111], [2111]]
    assert driver.parts.traffic.replayed == 0


def test_a_conversation_goes_on_by_its_digest(driver):
    history = []
    rows = driver.parts.rows(View())
    sums = [rows.ask(summing, history)[0][0]]
    for k in (1, 10, 100):
        history.append(k)
        sums += [rows.ask(summing, history)[0][0], driver.again().found[0][0][0]]
    assert sums == [400, 402, 402, 422, 422, 622, 622]
    assert len(zlib.decompress(driver.sent[-1].order)) < 700
    assert rows.ask(summing, [7])[0][0] == 414  # another history
    driver.jobs.clear()
    history.append(1000)
    assert [each[0][0] for each in rows.each(summing, history)] == [1311, 1311]
    assert driver.parts.traffic.replayed == 2
    del rows
    driver.parts.each(class_sums, 2)
    (job,) = driver.jobs.values()
    assert not any(known.talks or known.part.views for known in job.known.values())


def test_a_worker_keeps_two_jobs(driver):
    for _ in range(3):
        driver.parts = DaskParts(driver, load, specs(2))
        driver.parts.each(class_sums, 2)
    assert len(driver.jobs) == 2
    assert driver.parts.job in driver.jobs


def test_parts_stay_and_new_workers_get_a_share():
    two = dealt({}, [4, 3, 2, 1], {"a": 1, "b": 1})
    assert two == {0: "a", 1: "b", 2: "b", 3: "a"}
    assert dealt(two, [4, 3, 2, 1], {"a": 1, "b": 1}) == two
    assert dealt(two, [4, 3, 2, 1], {"a": 1, "b": 1, "c": 2}) == {0: "a", 1: "b", 2: "c", 3: "c"}
    assert dealt(two, [4, 3, 2, 1], {"b": 1}) == dict.fromkeys(range(4), "b")


@given(st.lists(st.integers(1, 9), min_size=1), st.lists(st.integers(1, 4), min_size=1), st.integers(1, 4))
def test_each_thread_has_its_share_and_one_part_more_at_most(sizes, threads, joined):
    workers = dict(enumerate(threads))
    before = dealt({}, sizes, workers)
    for threads in (workers, workers | {-1: joined}, {at: workers[at] for at in list(workers)[1:]} or workers):
        found = dealt(before, sizes, threads)
        assert found.keys() == set(range(len(sizes)))
        for at, own in threads.items():
            load = sum(sizes[part] for part, to in found.items() if to == at)
            assert load / own <= sum(sizes) / sum(threads.values()) + max(sizes)


# Learnings side by side -----------------------------------------------------------------------------------------------


def test_learnings_ask_together_and_end_apart():
    trips = []

    def go(questions, wanted):
        trips.append(list(questions))
        if "bad" in questions:
            raise InputError("no")
        return [each * 2 for each in questions]

    def learning(meeting, number, n):
        for _ in range(n):
            yield meeting.ask(number)
        return "over"

    meeting = Meeting(go)
    found = meeting.alongside([learning(meeting, number, number) for number in (1, 2, 3)])
    assert [list(each) for each in found] == [[2], [4, 4], [6, 6, 6]]
    assert sorted(map(sorted, trips)) == [[1, 2, 3], [2, 3], [3]]
    first, second = meeting.alongside([learning(meeting, 1, 10**9), learning(meeting, 2, 10**9)])
    assert next(first) == 2
    first.close()
    assert [next(second) for _ in range(3)] == [4, 4, 4]
    del second
    (bad,) = meeting.alongside([learning(meeting, "bad", 1)])
    with pytest.raises(InputError):
        next(bad)
    meeting.close()
    assert not meeting._running
