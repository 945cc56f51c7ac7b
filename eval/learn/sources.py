"""Data files of every kind turned into one set of samples."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from eval.learn import archive, packed
from eval.learn.dataset import SAMPLE, Choice, Replayer, first_of_each, smoothed
from eval.learn.records import Games, parse_games, parse_siblings, read_text

PACKED_SUFFIXES = {".bin": packed.PACKED_SFEN_VALUE, ".psv": packed.PACKED_SFEN_VALUE, ".hcpe": packed.HCPE}
Note = Callable[[str], None]


@dataclass
class Data:
    """Samples of several files without repeats. `first_games`: games of the first file, numbered 0, 1, ..."""

    samples: np.ndarray  # SAMPLE[n]
    first_games: int


def read_packed(path: Path) -> tuple[packed.Positions, np.ndarray, np.ndarray, np.ndarray]:
    """(positions, scores, results, plies) of a PackedSfenValue or hcpe file; results from the side to move's view.

    Raises ValueError if the file is not a whole number of records or holds something else. hcpe has no plies: all 0.
    """
    kind = PACKED_SUFFIXES[path.suffix]
    if path.stat().st_size % kind.itemsize:
        raise ValueError(f"{path} is not a whole number of {kind.itemsize}-byte records")
    records = np.fromfile(path, dtype=kind)
    try:
        if kind is packed.HCPE:
            positions = packed.unpack(records["hcp"], packed.HCP_CODE)
            black = np.array([0, 1, -1], dtype=np.int8)[records["gameResult"] & 3]
            results = np.where(positions.sides == 0, black, -black).astype(np.int8)
            return positions, records["eval"], results, np.zeros(len(records), dtype=np.uint16)
        positions = packed.unpack(records["sfen"], packed.SFEN_CODE)
        return positions, records["score"], records["game_result"], records["gamePly"]
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def read_games(path: Path, variant: str) -> Games | bytes:
    """Games of an archive or text file; the text itself if it is a file of siblings. Raises ValueError."""
    if archive.is_archive(path):
        games = archive.read_archive(path)
        if games.variant != variant:
            raise ValueError(f"{path} holds games of {games.variant}, not of {variant}")
        return games
    text = read_text(path)
    line = text[: text.find(b"\n")]
    if b";" in line or not line.strip():
        return text
    try:
        return parse_games(text, variant)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def make_samples(
    paths: Sequence[Path], variant: str, choice: Choice, smooth: bool = False, note: Note = lambda text: None
) -> Data:
    """Read and replay files in order; of equal positions the first is kept. Raises ValueError naming a bad file.

    A file of siblings belongs to the games file before it. `smooth`: average neighbouring scores of games.
    """
    replayer = Replayer(variant, choice)
    parts, keys = [], []
    next_game, first_games, last = 0, 0, None
    for source, path in enumerate(paths):
        if path.suffix in PACKED_SUFFIXES:
            if variant != "shogi":
                raise ValueError(f"{path}: this format is for standard shogi only")
            made = replayer.positions(*read_packed(path), source, next_game)
            count = int(made[0]["game"].max(initial=next_game - 1)) + 1 - next_game
        else:
            games = read_games(path, variant)
            if isinstance(games, bytes):
                if last is None:
                    raise ValueError(f"{path}: a file of siblings must follow its games file")
                made, count = replayer.siblings(last[0], parse_siblings(games), source, last[1]), 0
            else:
                made = replayer.games(smoothed(games) if smooth else games, source, next_game)
                last, count = (games, next_game), len(games)
        parts.append(made[0])
        keys.append(made[1])
        if source == 0:
            first_games = count
        next_game += count
        note(f"{path.name}: {len(made[0]):,} positions")
    keep = first_of_each(np.concatenate(keys)) if keys else np.zeros(0, dtype=np.int64)
    samples = np.concatenate(parts)[keep] if parts else np.zeros(0, SAMPLE)
    note(f"{len(samples):,} positions without repeats")
    return Data(samples, first_games)


def cached_samples(
    paths: Sequence[Path], variant: str, choice: Choice, smooth: bool, folder: Path | None, note: Note
) -> Data:
    """`make_samples`, kept as a memory-mapped file in a folder and reused while the data files stay the same."""
    if folder is None:
        return make_samples(paths, variant, choice, smooth, note)
    files = [[str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns] for path in paths]
    spec = json.dumps([files, variant, asdict(choice), smooth, str(SAMPLE)])
    name = hashlib.blake2b(spec.encode(), digest_size=8).hexdigest()
    stored, count = folder / f"samples-{name}.npy", folder / f"samples-{name}.json"
    if not count.exists():
        data = make_samples(paths, variant, choice, smooth, note)
        folder.mkdir(parents=True, exist_ok=True)
        np.save(stored, data.samples)
        count.write_text(json.dumps({"first_games": data.first_games}))
    note(f"samples from {stored}")
    return Data(np.load(stored, mmap_mode="r"), int(json.loads(count.read_text())["first_games"]))
