"""Make training data: games of the engine against itself, on every core.

The file grows by whole blocks of games. The same command continues it after a kill or Ctrl-C, and --games may grow.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.rules.variants import VARIANTS
from usi.commands._arguments import count
from usi.lock import only_process
from usi.selfplay.settings import SelfplaySettings, file_digest
from usi.selfplay.work import Block, in_order, processor_count, run_on_processes, run_on_scheduler

if TYPE_CHECKING:
    from eval.learn.archive import ArchiveWriter

DEFAULTS = SelfplaySettings(depth=1)


def add_parser(subparsers: Any) -> None:
    """`narikin selfplay`."""
    parser = subparsers.add_parser("selfplay", help="make training games", description=__doc__)
    parser.add_argument("--out", required=True, metavar="FILE", help="file of the games, for `narikin train`")
    parser.add_argument("--games", type=count(1), required=True, metavar="N", help="games the file shall hold")
    parser.add_argument("--variant", choices=list(VARIANTS), default=DEFAULTS.variant, help="the game (shogi)")
    parser.add_argument("--nodes", type=count(32), default=0, metavar="N", help="nodes a move")
    parser.add_argument("--depth", type=count(1, 100), default=0, metavar="N", help="depth of every search")
    parser.add_argument("--net", metavar="FILE", help="network, or handcrafted (the shipped one)")
    parser.add_argument("--seed", type=count(0), default=DEFAULTS.seed, metavar="N", help="one seed, one file (1)")
    parser.add_argument("--threads", type=count(1, 4096), metavar="N", help="processes (one for each processor)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="play on a Dask cluster (tcp://HOST:PORT)")
    group = parser.add_argument_group("how games are varied and ended")
    for name, kind, text in KNOBS:
        default = getattr(DEFAULTS, name)
        option = "--" + name.replace("_", "-")
        group.add_argument(option, type=kind, default=default, metavar="N", help=f"{text} ({default})")


KNOBS: list[tuple[str, Callable[[str], int], str]] = [
    ("opening_low", count(0, 100), "random plies at the start, at least"),
    ("opening_high", count(0, 200), "random plies at the start, at most"),
    ("opening_uniform", count(0, 1000), "permille of openings that choose evenly from all legal moves"),
    ("temperature", count(1, 10_000), "centipawns by which a move of other openings gets less likely by a factor e"),
    ("balance", count(1, 30_000), "centipawns that a short search may see for either side after the opening"),
    ("balance_nodes", count(32), "nodes of that search"),
    ("varied_until", count(0, 1000), "up to this ply moves may be varied"),
    ("varied_share", count(0, 1000), "permille of these moves that are"),
    ("varied_margin", count(0, 10_000), "centipawns that a varied move may be worse than the best"),
    ("varied_lines", count(1, 20), "moves that are compared for it"),
    ("resign_score", count(1, 40_000), "centipawns behind that lose a game"),
    ("resign_plies", count(1, 100), "... when they last for so many plies"),
    ("max_plies", count(10, 1000), "a game of so many plies is drawn"),
    ("hash_mb", count(1, 4096), "table of each process in MB"),
    ("block", count(1, 10_000), "games that are packed and kept together"),
]


def run(arguments: argparse.Namespace) -> int:
    """Make or continue the file; the exit code is 0 when it holds the games that were asked for."""
    settings = settings_from(arguments)
    path = Path(arguments.out)
    if path.is_dir():
        raise ValueError(f"--out {path} is a folder")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"--out {path}: {error.strerror}") from error
    refusal = f"{path} is being made by another process; choose another --out"
    with only_process(path.with_name(path.name + ".lock"), refusal):
        return _make(arguments, settings, path)


def _make(arguments: argparse.Namespace, settings: SelfplaySettings, path: Path) -> int:
    archive = open_archive(path, settings)
    last = -(-arguments.games // settings.block)
    if archive.chunks:
        print(f"{archive.path}: {archive.games} games are there")
        if archive.damaged:
            print(f"{archive.path}: {archive.damaged} damaged blocks are left out", file=sys.stderr)
    numbers = range(archive.chunks, last)
    meter = Meter(arguments.games, archive.games)
    try:
        with meter:
            for block in in_order(_blocks(arguments, settings, numbers, meter), archive.chunks):
                archive.append(block.packed)
                meter.add(block)
    except KeyboardInterrupt:
        print("stopped; the same command goes on from the last whole block")
    except BaseException:
        _remove_empty(archive)
        raise
    print(meter.summary(archive))
    _remove_empty(archive)
    return 0 if archive.chunks >= last else 130


def _remove_empty(archive: ArchiveWriter) -> None:
    """A file without games would only hold later tries to its settings."""
    if not archive.chunks:
        archive.path.unlink(missing_ok=True)


def open_archive(path: Path, settings: SelfplaySettings) -> ArchiveWriter:
    """The file to add to. Raises ArchiveError if it holds other games, ValueError if it cannot be written."""
    from eval.learn.archive import ArchiveError, ArchiveWriter

    wanted = settings.identity()
    try:
        archive = ArchiveWriter(path, wanted)
    except OSError as error:
        raise ValueError(f"--out {path}: {error.strerror}") from error
    differing = sorted(
        key for key in wanted.keys() | archive.settings.keys() if wanted.get(key) != archive.settings.get(key)
    )
    if differing and not archive.chunks:  # of a run that was killed before its first block
        path.unlink()
        return ArchiveWriter(path, wanted)
    if differing:
        raise ArchiveError(f"{path} was made with other settings ({', '.join(differing)}); choose another --out")
    return archive


def settings_from(arguments: argparse.Namespace) -> SelfplaySettings:
    """Settings from the parsed command line. Raises ValueError."""
    knobs = {name: getattr(arguments, name) for name, _, _ in KNOBS}
    net, digest = find_network(arguments.net, arguments.variant)
    return SelfplaySettings(
        variant=arguments.variant,
        nodes=arguments.nodes,
        depth=arguments.depth,
        net=net,
        net_digest=digest,
        seed=arguments.seed,
        **knobs,
    )


def find_network(asked: str | None, variant: str) -> tuple[str | None, str]:
    """What SelfPlayer is to load (None = what is shipped), and the digest of that network. Raises ValueError."""
    from eval import HANDCRAFTED, shipped_network

    if asked == HANDCRAFTED:
        return asked, HANDCRAFTED
    if asked is None:
        shipped = shipped_network(variant)
        return None, file_digest(shipped) if shipped else HANDCRAFTED
    path = Path(asked).resolve()
    try:
        return str(path), file_digest(path)
    except OSError as error:
        raise ValueError(f"--net {asked}: {error.strerror or error}") from error


def _blocks(arguments: argparse.Namespace, settings: SelfplaySettings, numbers: range, meter: Meter) -> Iterator[Block]:
    if arguments.scheduler:
        return run_on_scheduler(settings, numbers, arguments.scheduler)
    return run_on_processes(settings, numbers, arguments.threads or processor_count(), meter.live)


class Meter:
    """The progress bar, and what there is to say at the end."""

    def __init__(self, games: int, done: int) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._before = done
        self._progress = Progress(
            TextColumn("games"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]}"),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        self._bar = self._progress.add_task("games", total=games, completed=done, speed="")
        self._started = time.monotonic()
        self.nodes = 0
        self.plies = 0
        self.endings: Counter[str] = Counter()

    def __enter__(self) -> Meter:
        self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._progress.stop()

    def live(self, games: int, plies: int) -> None:
        """Show how far the processes are, unfinished blocks included."""
        speed = plies / max(1e-3, time.monotonic() - self._started)
        self._progress.update(self._bar, completed=self._before + games, speed=f"{speed:,.0f} positions/s")

    def add(self, block: Block) -> None:
        """Count a block that was kept."""
        self.nodes += block.nodes
        self.plies += block.plies
        self.endings += block.endings

    def summary(self, archive: ArchiveWriter) -> str:
        """The file, and how this run's games went."""
        seconds = time.monotonic() - self._started
        size = archive.path.stat().st_size
        lines = [f"{archive.path}: {archive.games} games, {size:,} bytes"]
        if self.plies:
            ends = ", ".join(f"{name} {number}" for name, number in self.endings.most_common())
            lines.append(
                f"this run: {self.plies:,} plies in {seconds:.0f} s, {self.nodes / seconds:,.0f} nodes/s; {ends}"
            )
        return "\n".join(lines)
