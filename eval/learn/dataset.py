"""Training samples: games and positions turned into network inputs with a target each.

A sample is one position from the side to move's view (inputs.py). Left out are positions in check, without a score,
with a score beyond the limit, or already seen: keys find repeats, turned and mirrored twins included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.native.jit import inline, kernel
from engine.rules.codes import SQUARES, WHITE
from engine.rules.layout import HAND_SHIFT, KING, NO_SQUARE
from engine.rules.position import in_check, make_move, new_position, refresh, unmake_move
from engine.rules.sfen import parse_sfen
from engine.rules.tables import variant_tables
from engine.rules.variants import get_variant
from eval import handcrafted
from eval.features import variant_orientation
from eval.learn.inputs import SLOTS, input_keys, write_inputs
from eval.learn.packed import Positions
from eval.learn.quiet import go_to_leaf, new_lines
from eval.learn.records import NO_SCORE, Games, Siblings

SAMPLE = np.dtype(
    [
        ("inputs", "u2", SLOTS),  # numbers of inputs.py, side to move's view
        ("score", "i2"),  # centipawns, side to move's view
        ("ply", "u2"),  # plies since the start of the game
        ("result", "i1"),  # 1 the side to move won the game, -1 it lost, 0 drawn
        ("source", "u1"),  # index of the file it comes from
        ("game", "i4"),  # number of its game, over all files; what belongs together shares it
    ]
)


@dataclass(frozen=True)
class Choice:
    """Which positions become samples."""

    limit: int = 3000  # largest |score|, centipawns
    leaf: bool = False  # take the end of the quiescence line in place of the position
    window: int = 300  # siblings: largest difference from the score of the game's position (both for one side)


class Replayer:
    """Makes samples of one variant. One instance holds one position record, so it is not for several threads."""

    def __init__(self, variant: str, choice: Choice) -> None:
        self.variant, self.choice = get_variant(variant), choice
        self.tables = variant_tables(variant)
        handcrafted.fill(self.tables)
        self.position = new_position()
        self.position["all_moves"] = 0
        self.lines = new_lines()
        self.keys = input_keys(self.variant.width)
        self.turned = np.ascontiguousarray(variant_orientation(self.tables)[WHITE])

    def _start(self, games: Games) -> tuple[Positions, np.ndarray]:
        """Different start positions of the games, and the index of each game's."""
        texts = games.starts or [""] * len(games)
        known = {text: index for index, text in enumerate(dict.fromkeys(texts))}
        positions = Positions.empty(len(known))
        for text, index in known.items():
            placement = parse_sfen(text or self.variant.start_sfen, self.variant)
            positions.boards[index] = placement.board
            positions.hands[index] = placement.hands
            positions.sides[index] = placement.side
        return positions, np.array([known[text] for text in texts], dtype=np.int64)

    def _context(self) -> tuple[Any, ...]:
        return self.position, self.tables, self.lines, self.keys, self.turned, self.choice.limit, self.choice.leaf

    def games(self, games: Games, source: int = 0, first_game: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Samples (SAMPLE[n]) and keys (uint64[n]) of the scored positions. Illegal moves are not noticed."""
        count = int(np.count_nonzero(games.scores != NO_SCORE))
        samples, keys = np.zeros(count, SAMPLE), np.zeros(count, dtype=np.uint64)
        starts, start_of = self._start(games)
        made = _replay_games(
            *self._context(),
            starts.boards,
            starts.hands,
            starts.sides,
            start_of,
            games.results,
            games.offsets,
            games.moves,
            games.scores,
            samples,
            keys,
        )
        return self._finished(samples[:made], source, first_game), keys[:made]

    def siblings(
        self, games: Games, siblings: Siblings, source: int = 0, first_game: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same for positions beside the games. Raises ValueError if they do not belong to these games.

        Only moves about as good as the game's are taken (Choice.window): after a blunder the score is that of its
        refutation, which a network that judges quiet positions should leave to the search.
        """
        scored = np.concatenate([[0], np.cumsum(games.scores != NO_SCORE)])
        groups = np.diff(siblings.games)
        if len(groups) != len(games) or np.any((groups != np.diff(scored[games.offsets])) & (groups != 0)):
            raise ValueError("the siblings do not belong to the games file before them")
        samples, keys = np.zeros(len(siblings.moves), SAMPLE), np.zeros(len(siblings.moves), dtype=np.uint64)
        starts, start_of = self._start(games)
        made = _replay_siblings(
            *self._context(),
            self.choice.window,
            starts.boards,
            starts.hands,
            starts.sides,
            start_of,
            games.results,
            games.offsets,
            games.moves,
            games.scores,
            siblings.games,
            siblings.groups,
            siblings.moves,
            siblings.scores,
            samples,
            keys,
        )
        return self._finished(samples[:made], source, first_game), keys[:made]

    def positions(
        self,
        positions: Positions,
        scores: np.ndarray,
        results: np.ndarray,
        plies: np.ndarray,
        source: int = 0,
        first_game: int = 0,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same for bare positions; a ply that is not larger than the one before starts a new game."""
        samples, keys = np.zeros(len(positions), SAMPLE), np.zeros(len(positions), dtype=np.uint64)
        made = _replay_positions(
            *self._context(),
            positions.boards,
            positions.hands,
            positions.sides,
            scores,
            results,
            plies,
            samples,
            keys,
        )
        return self._finished(samples[:made], source, first_game), keys[:made]

    @staticmethod
    def _finished(samples: np.ndarray, source: int, first_game: int) -> np.ndarray:
        samples["source"] = source
        samples["game"] += first_game
        return samples


@inline
def set_start(P, T, board, hand, side):
    """Set the record up from piece codes by square, hand counts [2, 8] and the side to move."""
    for square in range(SQUARES):
        P.board[square] = board[square]
    for colour in range(2):
        P.hand[colour] = 0
        for kind in range(1, KING):
            P.hand[colour] += np.int64(hand[colour, kind]) << HAND_SHIFT[kind]
    P.side = np.int64(side)
    refresh(P, T)


@inline
def take_sample(P, T, Q, keys, turned, leaf, score, sample):
    """Fill `sample` (inputs, score, result still for the side to move here); returns its key, 0 = not taken."""
    if in_check(P) or P.king[0] == NO_SQUARE or P.king[1] == NO_SQUARE:
        return np.uint64(0)
    length = go_to_leaf(P, T, Q) if leaf else np.int64(0)
    key = np.uint64(0)
    if not in_check(P):
        key = write_inputs(P, turned, keys, sample.inputs)
    for _ in range(length):
        unmake_move(P, T)
    if length & 1:
        sample.score, sample.result = -score, -sample.result
    else:
        sample.score = score
    return key


@kernel()
def _replay_games(
    P, T, Q, keys, turned, limit, leaf, boards, hands, sides, start_of, results, offsets, moves, scores, samples, found
):
    """Fill samples and keys; returns how many."""
    made = 0
    for game in range(len(results)):
        start = start_of[game]
        set_start(P, T, boards[start], hands[start], sides[start])
        for at in range(offsets[game], offsets[game + 1]):
            score = np.int64(scores[at])
            if score != NO_SCORE and abs(score) <= limit:
                sample = samples[made]
                sample.ply = at - offsets[game]
                sample.game = game
                sample.result = -results[game] if P.side else results[game]
                found[made] = take_sample(P, T, Q, keys, turned, leaf, score, sample)
                made += int(found[made] != 0)
            make_move(P, T, moves[at])
    return made


@kernel()
def _replay_siblings(
    P,
    T,
    Q,
    keys,
    turned,
    limit,
    leaf,
    window,
    boards,
    hands,
    sides,
    start_of,
    results,
    offsets,
    moves,
    scores,
    groups_of,
    groups,
    sibling_moves,
    sibling_scores,
    samples,
    found,
):
    """As _replay_games for the positions after other moves than the one played."""
    made = 0
    for game in range(len(results)):
        group = groups_of[game]
        if group == groups_of[game + 1]:
            continue
        start = start_of[game]
        set_start(P, T, boards[start], hands[start], sides[start])
        for at in range(offsets[game], offsets[game + 1]):
            if scores[at] != NO_SCORE:
                for entry in range(groups[group], groups[group + 1]):
                    score = np.int64(sibling_scores[entry])
                    if abs(score) > limit or abs(score + scores[at]) > window:
                        continue
                    make_move(P, T, sibling_moves[entry])
                    sample = samples[made]
                    sample.ply = at + 1 - offsets[game]
                    sample.game = game
                    sample.result = -results[game] if P.side else results[game]
                    found[made] = take_sample(P, T, Q, keys, turned, leaf, score, sample)
                    made += int(found[made] != 0)
                    unmake_move(P, T)
                group += 1
            make_move(P, T, moves[at])
    return made


@kernel()
def _replay_positions(P, T, Q, keys, turned, limit, leaf, boards, hands, sides, scores, results, plies, samples, found):
    """As _replay_games for single positions; results from the side to move's view."""
    made, game = 0, 0
    for n in range(len(sides)):
        if n and plies[n] <= plies[n - 1]:
            game += 1
        score = np.int64(scores[n])
        if abs(score) > limit:
            continue
        set_start(P, T, boards[n], hands[n], sides[n])
        sample = samples[made]
        sample.ply, sample.game, sample.result = plies[n], game, results[n]
        found[made] = take_sample(P, T, Q, keys, turned, leaf, score, sample)
        made += int(found[made] != 0)
    return made


def first_of_each(keys: np.ndarray) -> np.ndarray:
    """Indices, in order, of the first sample with each key."""
    _, first = np.unique(keys, return_index=True)
    first.sort()
    return first


def held_out(samples: np.ndarray, share: float) -> np.ndarray:
    """bool[n]: samples of about `share` of the games, for validation. 0 = none."""
    if share <= 0:
        return np.zeros(len(samples), dtype=bool)
    return samples["game"] % max(2, round(1 / share)) == 0


def smoothed(games: Games) -> Games:
    """The games with every score averaged with the next one (turned round), which halves the noise of both.

    A search of odd depth favours the side to move; the mean of two neighbours does not.
    """
    own = games.scores.astype(np.int64)
    after = np.append(own[1:], NO_SCORE)
    after[games.offsets[1:] - 1] = NO_SCORE
    both = (own != NO_SCORE) & (after != NO_SCORE)
    scores = np.where(both, (own - after) // 2, own).astype(np.int16)
    return Games(games.variant, games.results, games.offsets, games.moves, scores, games.starts)
