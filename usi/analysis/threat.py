"""Does the side that is not to move threaten mate (tsumero)? A pass, then the mate solver.

Importing the solver loads or compiles it: only those who ask for threats pay for that.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from engine.rules.board import Board
from engine.rules.sfen import format_sfen, parse_sfen
from engine.rules.variants import Variant, get_variant
from engine.search.mate_search import MateResult, MateSolver

DEFAULT_NODES = 100_000  # for each question; a whole game of 181 moves costs less than a second
BRINK_NODES = 20_000  # at most, for each move that might keep a mate off
HASH_MB = 32

THREAT, NONE, UNKNOWN, IN_CHECK = "threat", "none", "unknown", "in check"


@dataclass
class Threat:
    """The answer for one position."""

    status: str  # THREAT; NONE: proved that there is none by checks; UNKNOWN: the nodes ran out; IN_CHECK: no pass
    line: list[str] = field(default_factory=list)  # USI moves from the pass to the mate, the threatening side's first
    shortest: bool = False  # no shorter mate is threatened
    brinkmate: bool = False  # hisshi: no move but a check keeps the mate off, and the side to move has no mate itself

    @property
    def plies(self) -> int | None:
        """Length of the mate."""
        return len(self.line) or None


class ThreatFinder:
    """Asks the mate solver about positions of one variant; what it finds is kept from one position to the next."""

    def __init__(self, variant: str = "shogi", nodes: int = DEFAULT_NODES, hash_mb: int = HASH_MB) -> None:
        self._variant = get_variant(variant)
        self._nodes = nodes
        self._solver = MateSolver(variant, hash_mb)

    def mate(self, sfen: str) -> MateResult:
        """A mate by checks for the side to move."""
        return self._solver.solve(sfen, nodes=self._nodes)

    def threat(self, sfen: str, brinkmate: bool = True) -> Threat:
        """What the other side would do if the side to move passed."""
        board = Board(sfen, self._variant, strict=False)
        if board.is_check():
            return Threat(IN_CHECK)
        found = self._solver.solve(_passed(sfen, self._variant), nodes=self._nodes)
        if found.status != "mate":
            return Threat(NONE if found.status == "nomate" else UNKNOWN)
        threat = Threat(THREAT, found.line, found.exact)
        if brinkmate:
            threat.brinkmate = self._is_brinkmate(board, sfen)
        return threat

    def _is_brinkmate(self, board: Board, sfen: str) -> bool:
        """True only if proved: every move that gives no check is answered by a mate, and there is no mate to give."""
        nodes = min(self._nodes, BRINK_NODES)
        if self._solver.solve(sfen, nodes=nodes, shorten=False).status != "nomate":
            return False
        for move in list(board.legal_moves):
            if board.gives_check(move):
                continue
            board.push(move)
            mated = self._solver.solve(board.sfen(), nodes=nodes, shorten=False).status == "mate"
            board.pop()
            if not mated:
                return False
        return True


def _passed(sfen: str, variant: Variant) -> str:
    """The position with the other side to move."""
    placement = parse_sfen(sfen, variant, strict=False)
    return format_sfen(replace(placement, side=1 - placement.side), variant)
