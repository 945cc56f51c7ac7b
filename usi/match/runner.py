"""Plays the games of a match on several tables at once and keeps every result."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from usi.cluster import run_on_cluster
from usi.match.config import MatchError, MatchSettings
from usi.match.referee import ANOMALIES, Cancelled, Table
from usi.match.schedule import Opening, Task, pairings, tasks
from usi.match.statistics import Tally
from usi.match.store import GameResult, Store, tallies
from usi.match.umpire import load_rules
from usi.pauses import shorten_collections

Outcome = tuple[GameResult, list[str]]  # a game and its command log


@dataclass
class Plan:
    """The games of a match: their order and their openings."""

    settings: MatchSettings
    openings: list[Opening]  # by round; fewer than there are rounds are played again

    def __post_init__(self) -> None:
        settings = self.settings
        self.meetings = pairings(len(settings.engines), settings.gauntlet)
        self.total = settings.games * len(self.meetings)

    def tasks(self) -> Iterator[Task]:
        """All games in the order of play."""
        return tasks(self.meetings, self.settings.games)

    def opening(self, task: Task) -> Opening:
        """The opening of a game."""
        return self.openings[task.round % len(self.openings)]


class Backend(Protocol):
    """Where games are played: on threads of this process, or on other machines."""

    def play(
        self, plan: Plan, todo: Iterator[Task], stop: threading.Event
    ) -> Iterator[Outcome]:  # pragma: no cover - a type
        """Finished games as they come; `stop` ends it early. Raises MatchError."""
        ...


class ThreadBackend:
    """Games on `concurrency` threads of this process; each thread keeps its engines between games."""

    def __init__(self, settings: MatchSettings) -> None:
        self.settings = settings

    def play(self, plan: Plan, todo: Iterator[Task], stop: threading.Event) -> Iterator[Outcome]:
        """Finished games as they come; `stop` ends it early. Raises MatchError."""
        load_rules()  # before any clock runs
        shorten_collections()
        done: queue.Queue[Outcome | Exception | None] = queue.Queue()
        lock = threading.Lock()
        tables = [Table(self.settings) for _ in range(self.settings.concurrency)]
        workers = [
            threading.Thread(target=_work, args=(table, plan, todo, lock, stop, done), name=f"table {number}")
            for number, table in enumerate(tables)
        ]
        for worker in workers:
            worker.start()
        try:
            left = len(workers)
            while left:
                try:
                    item = done.get(timeout=0.5)  # short, because Ctrl-C cannot interrupt a wait on Windows
                except queue.Empty:
                    continue
                if item is None:
                    left -= 1
                elif isinstance(item, Exception):
                    raise item
                else:
                    yield item
        finally:
            stop.set()
            for worker, table in zip(workers, tables, strict=True):
                while worker.is_alive():  # an engine may just be starting: kill again until its thread is gone
                    table.close(hard=True)
                    worker.join(0.5)


def _work(
    table: Table,
    plan: Plan,
    todo: Iterator[Task],
    lock: threading.Lock,
    stop: threading.Event,
    done: queue.Queue[Outcome | Exception | None],
) -> None:
    """One table: play games until there are none left; engines are kept between games."""
    try:
        while not stop.is_set():
            with lock:
                task = next(todo, None)
            if task is None:
                break
            done.put(table.play(task, plan.opening(task), stop.is_set))
    except Cancelled:
        pass
    except Exception as error:  # handed to the thread that waits for results
        done.put(error)
    finally:
        table.close(hard=stop.is_set())
        done.put(None)


@dataclass(frozen=True)
class Job:
    """One game as it travels to another machine."""

    settings: MatchSettings
    task: Task
    opening: Opening


_local = threading.local()  # a cluster worker's thread keeps its table here between games


def play_job(job: Job) -> Outcome:
    """Play one game on a cluster's worker."""
    key = repr(job.settings.identity())
    if getattr(_local, "key", None) != key:
        if hasattr(_local, "table"):
            _local.table.close()
        _local.key, _local.table = key, Table(job.settings)
    outcome: Outcome = _local.table.play(job.task, job.opening, lambda: False)
    return outcome


class ClusterBackend:
    """Games on the workers of a Dask cluster, one at a time on each of their threads."""

    def __init__(self, settings: MatchSettings, address: str) -> None:
        self.settings = settings
        self.address = address

    def play(self, plan: Plan, todo: Iterator[Task], stop: threading.Event) -> Iterator[Outcome]:
        """Finished games as they come; `stop` ends it early. Raises MatchError and ClusterError."""
        jobs = (Job(self.settings, task, plan.opening(task)) for task in todo)
        return run_on_cluster(self.address, play_job, jobs, stop)


@dataclass
class Match:
    """A match as it runs: its plan, its results, and why it ended."""

    plan: Plan
    store: Store
    backend: Backend
    verdict: str | None = None  # of the sequential test

    def __post_init__(self) -> None:
        self.stop = threading.Event()

    @property
    def names(self) -> list[str]:
        return [engine.name for engine in self.plan.settings.engines]

    def tallies(self) -> dict[tuple[str, str], Tally]:
        """Results so far of every pairing, from the view of the engine named first."""
        return tallies(self.store.results.values(), self.names)

    def run(self, on_game: Callable[[GameResult], None]) -> None:
        """Play what is missing. `on_game` hears of each game after it was kept. Raises MatchError."""
        todo = (task for task in self.plan.tasks() if task.number not in self.store.results)
        self._test()
        if self.verdict is not None:
            return
        for game, log in self.backend.play(self.plan, todo, self.stop):
            if game.reason in ANOMALIES or self.plan.settings.log_all:
                name = f"{game.number:05d}-{game.reason.replace(' ', '-')}.log"
                game.log = self.store.write_log(name, log)
            self.store.add(game)
            on_game(game)
            self._test()
            if self.verdict is not None:
                self.stop.set()

    def _test(self) -> None:
        sprt = self.plan.settings.sprt
        if sprt is not None and self.verdict is None:
            for tally in self.tallies().values():
                self.verdict = sprt.verdict(tally)


def check_openings(plan: Plan) -> None:
    """Every opening that will be played must be legal and leave a game to play. Raises MatchError."""
    from usi.match.umpire import IllegalMove, Umpire

    settings = plan.settings
    for opening in dict.fromkeys(plan.opening(task) for task in plan.tasks()):
        try:
            umpire = Umpire(settings.variant, opening, settings.rule, settings.max_moves)
        except (IllegalMove, ValueError) as error:
            raise MatchError(f"opening {str(opening)!r}: {error}") from None
        end = umpire.verdict()
        if end is not None:
            raise MatchError(f"opening {str(opening)!r}: the game is over already ({end.reason})")
