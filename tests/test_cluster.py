"""Matches and self-play on a Dask cluster (in this process)."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

distributed = pytest.importorskip("distributed")

from usi.cluster import ClusterError, connect, run_on_cluster  # noqa: E402
from usi.match.config import Control, EngineSpec, MatchSettings  # noqa: E402
from usi.match.runner import ClusterBackend, Match, Plan  # noqa: E402
from usi.match.schedule import Opening  # noqa: E402
from usi.match.store import Store  # noqa: E402

FAKE = str(Path(__file__).with_name("fake_usi_engine.py"))


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ) as cluster:
        yield cluster.scheduler_address


def double(number: int) -> int:
    if number < 0:
        raise ClusterError("below zero")
    return 2 * number


def test_every_item_is_worked_on_once(address):
    assert sorted(run_on_cluster(address, double, range(20), threading.Event())) == [2 * n for n in range(20)]


def test_stop_gives_up_the_rest(address):
    stop = threading.Event()
    results = []
    for result in run_on_cluster(address, double, iter(range(1000)), stop):
        results.append(result)
        stop.set()
    assert len(results) < 100


def test_error_of_the_work_is_raised_here(address):
    with pytest.raises(ClusterError, match="below zero"):
        list(run_on_cluster(address, double, [1, -1], threading.Event()))


def test_wrong_address_is_one_clear_error(monkeypatch):
    monkeypatch.setattr("usi.cluster.CONNECT_TIMEOUT", 0.5)
    with pytest.raises(ClusterError, match="no Dask scheduler"):
        connect("tcp://127.0.0.1:9")


def test_match_on_a_cluster(address, tmp_path):
    engines = tuple(EngineSpec(name, (sys.executable, FAKE, "--moves", "7g7f")) for name in "AB")
    settings = MatchSettings(engines=engines, games=6, control=Control(nodes=1))
    plan = Plan(settings, [Opening()])
    match = Match(plan, Store(tmp_path, settings.identity()), ClusterBackend(settings, address))
    match.run(lambda game: None)
    assert sorted(match.store.results) == list(range(6))
    assert all(game.winner == "black" for game in match.store.results.values())


def test_selfplay_on_a_cluster_makes_the_same_file_as_processes_do(address, tmp_path):
    from usi.main import main

    words = ["selfplay", "--nodes", "50", "--block", "2", "--games", "6", "--out"]
    assert main([*words, str(tmp_path / "a"), "--scheduler", address]) == 0
    assert main([*words, str(tmp_path / "b"), "--threads", "1"]) == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
