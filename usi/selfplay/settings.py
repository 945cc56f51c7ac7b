"""What a self-play run is: everything that decides its games."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class SelfplaySettings:
    """Settings of a run. Scores in centipawns, shares in permille."""

    variant: str = "shogi"
    nodes: int = 0  # per move, 0 = no limit
    depth: int = 0  # per move, 0 = no limit
    net: str | None = None  # file of a network, or "handcrafted"; None = the shipped network
    net_digest: str = ""  # of the network that is used
    seed: int = 1
    block: int = 64  # games that are made, packed and kept together
    hash_mb: int = 16  # per process
    opening_low: int = 4  # random plies at the start
    opening_high: int = 20
    opening_uniform: int = 200  # openings drawn evenly from all legal moves; others prefer better moves ...
    temperature: int = 100  # ... the more, the lower this is
    balance: int = 300  # what a short search may see for either side after the opening
    balance_nodes: int = 2000
    varied_until: int = 40  # up to this ply ...
    varied_share: int = 100  # ... so many moves are drawn from those ...
    varied_margin: int = 60  # ... so near the best ...
    varied_lines: int = 4  # ... among so many
    resign_score: int = 3000
    resign_plies: int = 6
    max_plies: int = 320

    def __post_init__(self) -> None:
        if not self.nodes and not self.depth:
            raise ValueError("self-play needs --nodes or --depth")
        if not 0 <= self.opening_low <= self.opening_high:
            raise ValueError(f"--opening-low {self.opening_low} is above --opening-high {self.opening_high}")
        if self.opening_high >= self.max_plies:
            raise ValueError(
                f"--opening-high {self.opening_high} leaves nothing of games of --max-plies {self.max_plies}"
            )

    def identity(self) -> dict[str, Any]:
        """What a file's games have in common: a run is continued only under the same. The net's path may change."""
        kept = asdict(self)
        del kept["net"]
        return kept


def file_digest(path: Path) -> str:
    """SHA-256 of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
