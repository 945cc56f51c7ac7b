"""Blocks of self-play games, made by many processes of this machine or by a cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from usi.selfplay.settings import SelfplaySettings

if TYPE_CHECKING:
    from engine.search.selfplay import PlayedGame

Ask = Callable[[], bool]  # true: stop
Tell = Callable[[int], None]  # a game of so many plies was finished


@dataclass
class Block:
    """A finished block of games, or fewer where no balanced opening was found."""

    number: int
    packed: bytes  # eval.learn.archive.pack_games
    nodes: int = 0
    plies: int = 0
    endings: Counter[str] = field(default_factory=Counter)


_players: dict[Any, Any] = {}  # of this process or cluster worker, by thread and settings


def play_block(settings: SelfplaySettings, number: int, stopped: Ask, tell: Tell) -> Block | None:
    """Play the games of one block; None if `stopped` became true. The same block is the same games everywhere."""
    player = _player(settings)
    player.clear()
    block = Block(number, b"")
    games = []
    for index in range(settings.block):
        if stopped():
            return None
        game = player.play(settings.seed, number * settings.block + index)
        block.nodes += game.nodes
        block.endings[game.ending] += 1
        if game.moves:
            block.plies += len(game.moves)
            games.append(game)
        tell(len(game.moves))
    block.packed = _pack(settings.variant, games)
    return block


def _pack(variant: str, games: list[PlayedGame]) -> bytes:
    import numpy as np

    from eval.learn.archive import pack_games
    from eval.learn.records import NO_SCORE, Games

    lengths = [len(game.moves) for game in games]
    scores = [NO_SCORE if score is None else score for game in games for score in game.scores]
    return pack_games(
        Games(
            variant,
            np.array([game.result for game in games], dtype=np.int8),
            np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]),
            np.array([move for game in games for move in game.moves], dtype=np.int32),
            np.array(scores, dtype=np.int16),
        )
    )


def _player(settings: SelfplaySettings) -> Any:
    from engine.search.selfplay import SelfPlayer

    key = threading.get_ident(), settings
    if key not in _players:
        for other in [known for known in _players if known[0] == key[0]]:
            del _players[other]
        _players[key] = SelfPlayer(settings)
    return _players[key]


# ---- the processes of this machine ----


@dataclass
class Shared:
    """What the processes of a run share: a stop flag, and how far they are, for the progress bar."""

    stop: Any
    games: Any
    plies: Any
    compiling: Any  # lock held by the first process while it fills the cache of compiled code
    compiled: Any

    @classmethod
    def new(cls) -> Shared:
        context = multiprocessing.get_context("spawn")
        return cls(
            context.Value("q", 0), context.Value("q", 0), context.Value("q", 0), context.Lock(), context.Value("q", 0)
        )


_shared: Shared | None = None


def _start_process(shared: Shared) -> None:
    global _shared
    _shared = shared
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which sets the stop flag
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A killed parent cannot say stop: without this its processes would play on for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _play_in_process(settings: SelfplaySettings, number: int) -> Block | None:
    shared = _shared
    assert shared is not None
    with shared.compiling:
        if not shared.compiled.value:
            _player(settings)
            shared.compiled.value = 1

    def tell(plies: int) -> None:
        with shared.games.get_lock():
            shared.games.value += 1
        with shared.plies.get_lock():
            shared.plies.value += plies

    return play_block(settings, number, lambda: bool(shared.stop.value), tell)


def run_on_processes(
    settings: SelfplaySettings, numbers: Iterable[int], processes: int, on_progress: Callable[[int, int], None]
) -> Iterator[Block]:
    """The blocks in order of completion. `on_progress(games, plies)` hears the totals of this run twice a second."""
    shared = Shared.new()
    waiting = iter(numbers)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, _start_process, (shared,)) as pool:
        running: set[Future[Block | None]] = set()
        try:
            while True:
                while len(running) < processes + 1 and (number := next(waiting, None)) is not None:
                    running.add(pool.submit(_play_in_process, settings, number))
                if not running:
                    return
                done, running = wait(running, 0.5, FIRST_COMPLETED)
                on_progress(shared.games.value, shared.plies.value)
                for future in done:
                    block = future.result()
                    if block is not None:
                        yield block
        finally:
            shared.stop.value = 1
            pool.shutdown(wait=True, cancel_futures=True)


def processor_count() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# ---- a cluster ----


@dataclass(frozen=True)
class Job:
    """A block as it travels to another machine."""

    settings: SelfplaySettings
    number: int


def play_job(job: Job) -> Block:
    """Play a block on a cluster's worker."""
    block = play_block(job.settings, job.number, lambda: False, lambda plies: None)
    assert block is not None
    return block


def run_on_scheduler(settings: SelfplaySettings, numbers: Iterable[int], address: str) -> Iterator[Block]:
    """The blocks in order of completion, from a Dask cluster."""
    from usi.cluster import run_on_cluster

    stop = threading.Event()
    try:
        yield from run_on_cluster(address, play_job, (Job(settings, number) for number in numbers), stop)
    finally:
        stop.set()


def in_order(blocks: Iterable[Block], first: int) -> Iterator[Block]:
    """The same blocks by number, from `first` on: a file is the same whatever the number of processes."""
    early: dict[int, Block] = {}
    for block in blocks:
        early[block.number] = block
        while first in early:
            yield early.pop(first)
            first += 1
