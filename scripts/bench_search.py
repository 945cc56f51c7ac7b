"""How fast the search is and where its time goes.

    python scripts/bench_search.py                    nodes per CPU second, ns per call of the parts of a node
    python scripts/bench_search.py --threads 2        also nodes per second with two threads against one
    python scripts/bench_search.py --stops 200        only how long a search takes to answer `stop`

CPU seconds are counted, not seconds, so that a busy machine disturbs less. Scaling is printed beside that of a loop of
pure arithmetic run by as many threads, which tells what the machine could give at that moment; answers to `stop` beside
those of threads that run the same arithmetic in short pieces until they are told to end.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import int64

from engine.native.intrinsics import address_of, call_evaluation
from engine.native.jit import CACHE_FOLDER  # noqa: F401  (the cache folder must be chosen before numba loads)
from engine.rules.checks import generate_checks, mate_in_one
from engine.rules.movegen import generate_captures, generate_drops, generate_legal, generate_quiets, is_legal
from engine.rules.position import in_check, make_move, position_key, unmake_move
from engine.search.engine import Engine
from engine.search.hash_table import prefetch_entry, probe
from engine.search.limits import Limits
from engine.search.see import exchange_at_least

import numba  # isort: skip

jit: Any = numba.njit(error_model="numpy", nogil=True)

BENCH_DEPTH = 14  # shallower searches are over before their tables are warm
CONTROL_STEPS = 1 << 26
SHORT_STEPS = 1 << 16  # some 0.1 ms: how often the control of `--stops` looks whether it should end


@jit
def walk(P, T, C, W, what, rounds):
    """Repeat one part of a node's work on the position; returns something that depends on all of it."""
    n = generate_legal(P, T, int64(0))
    total = int64(0)
    for _ in range(rounds):
        if what == 0:
            for i in range(n):
                make_move(P, T, P.moves[i])
                total += P.side
                unmake_move(P, T)
        elif what == 1:
            total += generate_captures(P, T, int64(n))
        elif what == 2:
            total += generate_quiets(P, T, int64(n))
        elif what == 3:
            total += generate_drops(P, T, int64(n))
        elif what == 4:
            total += generate_checks(P, T, int64(n))
        elif what == 5:
            total += mate_in_one(P, T, int64(n))
        elif what == 6:
            for i in range(n):
                total += is_legal(P, T, P.moves[i])
        elif what == 7:
            for i in range(n):
                total += exchange_at_least(P, T, W, P.moves[i], int64(0))
        elif what == 8:
            for i in range(n):
                make_move(P, T, P.moves[i])
                total += call_evaluation(C.evaluate, address_of(P), address_of(T), address_of(C))
                unmake_move(P, T)
    return total


@jit
def walk_table(C, keys, ahead):
    """Probe the table at random places, fetching each one some probes ahead as the search does."""
    total = np.uint64(0)
    for i in range(len(keys) - 8):
        if ahead:
            prefetch_entry(C, keys[i + 8])
        total += probe(C, keys[i])
    return total


@jit
def arithmetic(steps):
    """The control: a chain of operations that no cache and no other core can slow down."""
    x = np.uint64(88172645463325252)
    for _ in range(steps):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
    return x


@jit
def is_quiet_root(P):
    return not in_check(P) and position_key(P) != np.uint64(0)


PARTS = (
    (0, "make and unmake a move", True),
    (1, "generate captures", False),
    (2, "generate quiet moves", False),
    (3, "generate drops", False),
    (4, "generate checks", False),
    (5, "look for a mate in one", False),
    (6, "legality of one move", True),
    (7, "exchange value of a move", True),
    (8, "make, evaluate, unmake", True),
)


def positions() -> list[str | None]:
    """The shogi positions of `narikin bench`."""
    from usi.commands._arguments import read_position
    from usi.commands.bench import POSITIONS

    return [read_position([text], "shogi").sfen for name, text in POSITIONS if name == "shogi"]


def time_parts(engine: Engine, rounds: int) -> None:
    """Print ns per call of each part, the mean over the positions that are not in check."""
    worker = engine.workers[0]
    P, T, C, W = worker.position, engine.tables, engine.shared, worker.record
    spent = {what: 0.0 for what, _, _ in PARTS}
    calls = dict.fromkeys(spent, 0)
    walk(P, T, C, W, 0, 1)
    for sfen in positions():
        engine.set_position(sfen, [])
        if not is_quiet_root(P):
            continue
        count = int(generate_legal(P, T, 0))
        P["root_ply"] = P["ply"]
        for what, _, per_move in PARTS:
            started = time.thread_time()
            walk(P, T, C, W, what, rounds)
            spent[what] += time.thread_time() - started
            calls[what] += rounds * (count if per_move else 1)
    for what, name, _ in PARTS:
        print(f"  {name:32} {spent[what] / calls[what] * 1e9:8.1f} ns")
    keys = np.random.default_rng(1).integers(1, 1 << 63, 1_000_000, dtype=np.uint64)
    for ahead, name in ((False, "probe the table, cold"), (True, "probe the table, prefetched")):
        walk_table(C, keys[:16], ahead)
        started = time.thread_time()
        walk_table(C, keys, ahead)
        print(f"  {name:32} {(time.thread_time() - started) / len(keys) * 1e9:8.1f} ns")


def time_search(engine: Engine, depth: int) -> None:
    """Print nodes per CPU second over the positions."""
    nodes = 0
    started = time.process_time()
    for sfen in positions():
        engine.new_game()
        engine.set_position(sfen, [])
        nodes += engine.search(Limits(depth=depth)).nodes
    seconds = time.process_time() - started
    print(f"one thread: {nodes} nodes in {seconds:.2f} CPU s = {nodes / seconds:.0f} per CPU second,", end=" ")
    print(f"{seconds / nodes * 1e9:.0f} ns a node")


def rate(count: int, work: Callable[[], float]) -> tuple[float, float]:
    """Work done by some threads at once, per second and per CPU second."""
    done: list[float] = []
    threads = [threading.Thread(target=lambda: done.append(work())) for _ in range(count)]
    started, used = time.perf_counter(), time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done) / (time.perf_counter() - started), sum(done) / (time.process_time() - used)


def time_threads(engine: Engine, count: int, seconds: float) -> None:
    """Print nodes of `count` threads against one, and the same of the control; alternating, medians.

    Per CPU second the figure does not depend on how many CPUs others leave free: 1.00 means that the threads do not
    get into each other's way, and on idle cores are `count` times as fast.
    """

    def control() -> float:
        arithmetic(CONTROL_STEPS)
        return float(CONTROL_STEPS)

    def search() -> float:
        return float(engine.search(Limits(movetime=int(seconds * 1000))).nodes)

    arithmetic(1)
    gains, controls = [], []
    for _ in range(5):
        rates = []
        for threads in (count, 1):
            engine.set_option("threads", threads)
            engine.new_game()
            engine.set_position(None, [])
            rates.append(rate(1, search))
        gains.append(np.divide(rates[0], rates[1]))
        controls.append(np.divide(rate(count, control), rate(1, control)))
    for name, values in (("search", gains), ("arithmetic", controls)):
        a_second, a_cpu_second = np.median(values, axis=0)
        print(f"{count} threads, {name}: {a_second:.2f} times as much as one a second, {a_cpu_second:.2f} a CPU second")


def stop_search(engine: Engine, pause: float) -> float:
    """Milliseconds from `stop` to the answer of a search that ran for a while."""
    done = threading.Event()
    engine.go(Limits(infinite=True), None, lambda result: done.set())
    time.sleep(pause)
    started = time.perf_counter()
    engine.stop()
    done.wait()
    return (time.perf_counter() - started) * 1000


def stop_control(count: int, pause: float) -> float:
    """Milliseconds until as many threads that do nothing but arithmetic have ended, told in the same way."""
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            arithmetic(SHORT_STEPS)

    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    time.sleep(pause)
    started = time.perf_counter()
    stop.set()
    for thread in threads:
        thread.join()
    return (time.perf_counter() - started) * 1000


def time_stops(engine: Engine, count: int, times: int) -> None:
    """Print how fast searches with `count` threads answer `stop`, and how fast the control does."""
    engine.set_option("threads", count)
    chooser = np.random.default_rng(1)
    arithmetic(1)
    searches, controls = [], []
    places = positions()
    for number in range(times):
        engine.set_position(places[number % len(places)], [])
        pause = float(chooser.uniform(0.001, 0.1))
        searches.append(stop_search(engine, pause))
        controls.append(stop_control(count, pause))
    for name, values in (("stop to answer", searches), ("arithmetic", controls)):
        median, most, worst = np.quantile(values, (0.5, 0.95, 1.0))
        print(f"{name}, {count} thread(s), {times} times:", end=" ")
        print(f"median {median:.2f} ms, 95 % {most:.2f} ms, worst {worst:.2f} ms")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--depth", type=int, default=BENCH_DEPTH)
    parser.add_argument("--rounds", type=int, default=2000, help="repetitions of each part on each position")
    parser.add_argument("--threads", type=int, default=0, help="also measure this many threads against one")
    parser.add_argument("--stops", type=int, default=0, help="measure only the answers to so many stops")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each search with threads")
    parser.add_argument("--eval-file", default="handcrafted", help="a network (default: handcrafted)")
    arguments = parser.parse_args()
    engine = Engine(hash_mb=64)
    engine.set_option("eval_file", arguments.eval_file)
    print(f"evaluation: {engine.evaluation.description}")
    if arguments.stops:
        time_stops(engine, max(1, arguments.threads), arguments.stops)
        return
    time_search(engine, arguments.depth)
    time_parts(engine, arguments.rounds)
    if arguments.threads > 1:
        time_threads(engine, arguments.threads, arguments.seconds)


if __name__ == "__main__":
    main()
