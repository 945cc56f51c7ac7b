"""Whole games of the search against itself in one jitted call, for training data.

A game starts with random moves until a quick search calls the position balanced, goes on with searches of a fixed
size, sometimes takes a near-best move early on, and ends by the rules or when one side has long been winning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numba import from_dtype, int32, int64, types, void

from engine.native.intrinsics import atomic_store_i64, multiply_high
from engine.native.jit import inline, kernel
from engine.rules.endings import DRAW, NONE, WIN, declaration, game_repetition
from engine.rules.layout import new_record, position_type, shared_type, tables_type
from engine.rules.movegen import generate_legal
from engine.rules.moves import format_usi
from engine.rules.position import make_move, unmake_move
from engine.search.engine import Engine
from engine.search.hash_table import AGES
from engine.search.layout import BOUND_EXACT, INFINITE, MATE, MATE_IN_MAX, MAX_PLY, worker_type
from engine.search.root import STOPPED, begin_depth, begin_line, begin_search, root_move, search_line

MAX_GAME = 1024
NO_LIMIT = 1 << 62  # nodes
UNSCORED = -32768  # score of a move that was not searched
BLACK_WINS, WHITE_WINS, DRAWN = 1, -1, 0

# How a game ended, index into ENDINGS.
ENDINGS = (
    "no balanced opening",
    "no legal move",
    "repetition",
    "perpetual check",
    "declaration",
    "length",
    "resignation",
)
NO_OPENING, NO_MOVE, REPEATED, PERPETUAL, DECLARATION, LENGTH, RESIGNED = range(len(ENDINGS))

OPENING_TRIES = 200
OPENING_LINES = 10  # moves among which a random opening chooses by their scores
BEHIND = 4096  # scores further behind the best count as this far

SELFPLAY = np.dtype(
    [
        ("random", "u8"),  # state of the generator, never 0
        # settings
        ("nodes", "i8"),  # per move
        ("depth", "i8"),  # per move
        ("opening_low", "i8"),  # random plies at the start, at least
        ("opening_high", "i8"),  # and at most
        ("opening_uniform", "i8"),  # permille of openings that choose evenly among all legal moves
        ("balance", "i8"),  # centipawns that a search of `balance_nodes` may see for either side after the opening
        ("balance_nodes", "i8"),
        ("varied_until", "i8"),  # up to this ply ...
        ("varied_share", "i8"),  # ... so many permille of the moves are drawn
        ("varied_margin", "i8"),  # from those within so many centipawns of the best ...
        ("varied_lines", "i8"),  # ... among so many
        ("resign_score", "i8"),  # a side that is behind by more ...
        ("resign_plies", "i8"),  # ... for so many plies in a row has lost
        ("max_plies", "i8"),  # a game this long is drawn; at most MAX_GAME
        # the game
        ("length", "i8"),  # plies played
        ("result", "i8"),  # BLACK_WINS, WHITE_WINS, DRAWN
        ("ending", "i8"),  # index into ENDINGS
        ("total_nodes", "i8"),
        ("moves", "i4", MAX_GAME),
        ("scores", "i4", MAX_GAME),  # of the search before the move, side to move's view, or UNSCORED
        ("likelihood", "i8", BEHIND),  # of a random opening's move, by the units that it is behind the best
        ("sums", "i8", OPENING_LINES),  # running sums of these
    ],
    align=True,
)
selfplay_type: types.Record = from_dtype(SELFPLAY)


@inline
def next_random(R):
    """64 random bits (xorshift64*, Marsaglia 2003, Vigna 2016)."""
    x = R.random
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    R.random = x
    return x * np.uint64(0x2545F4914F6CDD1D)


@inline
def random_below(R, limit):
    """A number from 0 to limit - 1."""
    return int64(multiply_high(next_random(R), np.uint64(limit)))


@inline
def _begin(P, T, W):
    """Begin a search of all legal moves; returns their number."""
    count = generate_legal(P, T, int64(0))
    begin_search(P, W, count)
    return count


@kernel(int64(position_type, tables_type, shared_type, worker_type, int64, int64, int64))
def think_within(P, T, C, W, nodes, max_depth, lines):
    """Search some lines within a number of nodes, but always to depth 1; 1 if the last depth was finished.

    `begin_search` must have been called. A finished depth leaves its scores in `previous` of the root moves too, an
    unfinished one those of the depth before.
    """
    lines = min(lines, W.root_count)
    finished = True
    for depth in range(1, max_depth + 1):
        W.node_limit = int64(NO_LIMIT) if depth == 1 else nodes
        begin_depth(W, int64(depth))
        for line in range(lines):
            begin_line(W, int64(line), int64(depth))
            if search_line(P, T, C, W, int64(depth), False) == STOPPED:
                finished = False
                break
        best = abs(np.int64(root_move(W, int64(0)).score))
        if not finished or W.nodes >= nodes or best >= MATE_IN_MAX and depth > MATE - best:
            break
    if finished:
        begin_depth(W, W.root_depth)
    atomic_store_i64(C.stop, int64(0))
    return int64(finished)


@inline
def _line_score(W, i):
    """Score of a line at the last finished depth, -INFINITE if it has none."""
    return np.int64(root_move(W, i).previous)


@inline
def _best_line_score(W):
    best = int64(-INFINITE)
    for i in range(W.root_count):
        best = max(best, _line_score(W, i))
    return best


@kernel(int32(worker_type, selfplay_type, int64))
def _near_best(W, R, margin):
    """One of the searched lines within a margin of the best, every one as likely."""
    best = _best_line_score(W)
    count = int64(0)
    chosen = int32(0)
    for i in range(W.root_count):
        if _line_score(W, i) > -INFINITE and _line_score(W, i) >= best - margin:
            count += 1
            if random_below(R, count) == 0:
                chosen = root_move(W, i).move
    return chosen


@kernel(int32(position_type, tables_type, shared_type, worker_type, selfplay_type))
def _by_score(P, T, C, W, R):
    """A move of a random opening: better ones are likelier, as exp(score / temperature) after a search of one ply."""
    think_within(P, T, C, W, int64(NO_LIMIT), int64(1), int64(OPENING_LINES))
    count = min(int64(OPENING_LINES), W.root_count)
    best = _line_score(W, int64(0))
    total = int64(0)
    for i in range(count):
        behind = min(max(best - _line_score(W, i), int64(0)), int64(BEHIND - 1))
        total += R.likelihood[np.uint64(behind)]
        R.sums[np.uint64(i)] = total
    drawn = random_below(R, total)
    i = int64(0)
    while R.sums[np.uint64(i)] <= drawn:
        i += 1
    return root_move(W, i).move


@inline
def _record(P, T, R, m, score):
    """Note a move and play it."""
    R.moves[np.uint64(P.ply)] = m
    R.scores[np.uint64(P.ply)] = np.int32(score)
    make_move(P, T, m)
    R.length = P.ply


@inline
def _final_score(W):
    """Score of the first root move: of the running depth if it is exact, else of the last finished one."""
    best = root_move(W, int64(0))
    if best.score == -INFINITE or (best.bound != BOUND_EXACT and best.previous != -INFINITE):
        return np.int64(best.previous)
    return np.int64(best.score)


@kernel(int64(position_type, tables_type, shared_type, worker_type, selfplay_type))
def random_opening(P, T, C, W, R):
    """Play random moves from the start until a quick search sees a balanced position; 1, or 0 if none was found."""
    for _ in range(OPENING_TRIES):
        while P.ply > 0:
            unmake_move(P, T)
        plies = R.opening_low + random_below(R, R.opening_high - R.opening_low + 1)
        uniform = random_below(R, int64(1000)) < R.opening_uniform
        alive = True
        for _ in range(plies):
            count = _begin(P, T, W)
            if count == 0:
                alive = False
                break
            m = root_move(W, random_below(R, count)).move if uniform else _by_score(P, T, C, W, R)
            R.total_nodes += W.nodes
            _record(P, T, R, m, UNSCORED)
        if not alive or _begin(P, T, W) == 0:
            continue
        think_within(P, T, C, W, R.balance_nodes, int64(20), int64(1))
        R.total_nodes += W.nodes
        score = _final_score(W)
        if abs(score) <= R.balance:
            return int64(1)
    return int64(0)


@inline
def _finish(R, result, ending):
    R.result = result
    R.ending = ending


@inline
def _winner(side):
    """Result of a game that `side` won."""
    return int64(BLACK_WINS) - 2 * side


@kernel(int64(position_type, tables_type, shared_type, selfplay_type))
def _is_over(P, T, C, R):
    """1 if the rules end the game here, mate aside; writes the result."""
    repetition = np.int64(game_repetition(P))
    if repetition != NONE:
        if repetition == DRAW:
            _finish(R, DRAWN, REPEATED)
        else:
            _finish(R, _winner(P.side if repetition == WIN else P.side ^ 1), PERPETUAL)
        return int64(1)
    if declaration(P, T, C) != 0:
        _finish(R, _winner(P.side), DECLARATION)
        return int64(1)
    if P.ply >= R.max_plies:
        _finish(R, DRAWN, LENGTH)
        return int64(1)
    return int64(0)


@kernel(int32(position_type, tables_type, shared_type, worker_type, selfplay_type))
def _choose(P, T, C, W, R):
    """The move to play, whose score is left in R.scores at this ply."""
    varied = P.ply < R.varied_until and random_below(R, int64(1000)) < R.varied_share
    if varied:
        think_within(P, T, C, W, R.nodes, R.depth, R.varied_lines)
        R.scores[np.uint64(P.ply)] = np.int32(_best_line_score(W))
        return _near_best(W, R, R.varied_margin)
    think_within(P, T, C, W, R.nodes, R.depth, int64(1))
    R.scores[np.uint64(P.ply)] = np.int32(_final_score(W))
    return root_move(W, int64(0)).move


@kernel(void(position_type, tables_type, shared_type, worker_type, selfplay_type))
def play_game(P, T, C, W, R):
    """Play one game from the start position in P (ply 0, or any game that began there) into R."""
    R.total_nodes = 0
    R.length = 0
    if random_opening(P, T, C, W, R) == 0:
        R.length = 0
        _finish(R, DRAWN, NO_OPENING)
        return
    streak = int64(0)  # plies in a row that black (+) or white (-) has been winning
    while True:
        if _begin(P, T, W) == 0:
            _finish(R, _winner(P.side ^ 1), NO_MOVE)
            return
        if _is_over(P, T, C, R):
            return
        m = _choose(P, T, C, W, R)
        R.total_nodes += W.nodes
        score = np.int64(R.scores[np.uint64(P.ply)])
        view = score if P.side == 0 else -score
        if view > R.resign_score:
            streak = max(streak, int64(0)) + 1
        elif view < -R.resign_score:
            streak = min(streak, int64(0)) - 1
        else:
            streak = int64(0)
        _record(P, T, R, m, score)
        if abs(streak) >= R.resign_plies:
            _finish(R, int64(BLACK_WINS) if streak > 0 else int64(WHITE_WINS), RESIGNED)
            return


CENTIPAWN_SETTINGS = ("balance", "varied_margin", "resign_score")
COPIED_SETTINGS = (
    "opening_low",
    "opening_high",
    "opening_uniform",
    "balance_nodes",
    "varied_until",
    "varied_share",
    "varied_lines",
    "resign_plies",
    "max_plies",
    *CENTIPAWN_SETTINGS,
)


class Settings(Protocol):
    """What a SelfPlayer is told, and besides it COPIED_SETTINGS; usi.selfplay.settings has all with defaults."""

    @property
    def variant(self) -> str: ...
    @property
    def nodes(self) -> int: ...
    @property
    def depth(self) -> int: ...
    @property
    def net(self) -> str | None: ...
    @property
    def hash_mb(self) -> int: ...
    @property
    def max_plies(self) -> int: ...
    @property
    def temperature(self) -> int: ...


@dataclass
class PlayedGame:
    """One game from the start position. Scores: centipawns, the mover's view, None for moves of the random opening."""

    moves: list[int]
    scores: list[int | None]
    result: int  # BLACK_WINS, WHITE_WINS, DRAWN
    ending: str  # one of ENDINGS
    nodes: int


class SelfPlayer:
    """Plays games on one thread. The memory of the search is kept from game to game until `clear`."""

    def __init__(self, settings: Settings) -> None:
        """Load or compile the code and the network. Raises ValueError and OSError for a network that is none."""
        self._engine = Engine(settings.variant, 1, settings.hash_mb)
        if settings.net is not None:
            self._engine.set_option("eval_file", settings.net)
        self._engine.set_option("max_moves", settings.max_plies)
        self._record: Any = new_record(SELFPLAY)
        pawn = self._engine.evaluation.pawn
        for name in COPIED_SETTINGS:
            value = getattr(settings, name)
            self._record[name] = round(value * pawn / 100) if name in CENTIPAWN_SETTINGS else value
        units = settings.temperature * pawn / 100
        self._record["likelihood"] = np.exp(-np.arange(BEHIND) / units) * 2.0**32
        self._record["nodes"] = settings.nodes or NO_LIMIT
        self._record["depth"] = min(settings.depth or MAX_PLY - 1, MAX_PLY - 1)

    def clear(self) -> None:
        """Forget what earlier games taught, so that the next ones depend on their seeds alone."""
        self._engine.new_game()

    def play(self, seed: int, number: int) -> PlayedGame:
        """Play game `number` of a series."""
        worker = self._start(seed, number)
        play_game(worker.position, self._engine.tables, self._engine.shared, worker.record, self._record)
        record = self._record
        length = int(record["length"])
        return PlayedGame(
            record["moves"][:length].tolist(),
            [self._centipawns(score) for score in record["scores"][:length].tolist()],
            int(record["result"]),
            ENDINGS[int(record["ending"])],
            int(record["total_nodes"]),
        )

    def opening_moves(self, seed: int, number: int) -> list[str]:
        """A random opening, as USI moves, that a short search calls balanced; empty if none was found."""
        worker = self._start(seed, number)
        position, record = worker.position, self._record
        found = random_opening(position, self._engine.tables, self._engine.shared, worker.record, record)
        moves = record["moves"][: int(position["ply"])].tolist()
        return [format_usi(move) for move in moves] if found else []

    def _start(self, seed: int, number: int) -> Any:
        """Set up the start position and the random numbers of a game."""
        self._engine.set_position(None, [])
        worker = self._engine.workers[0]
        worker.position["all_moves"] = 0
        shared = self._engine.shared
        shared["hash_age"] = (int(shared["hash_age"]) + 1) % AGES
        self._engine.lower_stop_flag()
        self._record["random"] = mixed_seed(seed, number)
        return worker

    def _centipawns(self, score: int) -> int | None:
        if score == UNSCORED:
            return None
        return score if abs(score) >= MATE_IN_MAX else self._engine.evaluation.centipawns(score)


def mixed_seed(seed: int, number: int) -> int:
    """A start for `next_random`, far from those of other numbers (SplitMix64, Steele et al. 2014); never 0."""
    mask = (1 << 64) - 1
    x = (seed * 0xD1342543DE82EF95 + number + 1) * 0x9E3779B97F4A7C15 & mask
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & mask
    x = (x ^ x >> 27) * 0x94D049BB133111EB & mask
    return (x ^ x >> 31) or 1
