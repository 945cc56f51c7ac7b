"""How games end: the table of rule cases, repetition classes, counting, limits."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import numpy as np
import pytest

from engine.native.jit import kernel
from engine.rules.board import Board, Move, Termination
from engine.rules.codes import BLACK, WHITE
from engine.rules.endings import (
    DECLARED,
    DRAW,
    INFERIOR,
    LOSS,
    NONE,
    SUPERIOR,
    WIN,
    count_occurrences,
    declaration,
    game_repetition,
    move_limit_reached,
    repetition,
    try_move,
)
from engine.rules.impasse import IMPASSE_RULES, entering_points, impasse_count, rule_index
from engine.rules.layout import SHARED, new_record
from engine.rules.moves import format_usi, parse_usi
from engine.rules.sfen import parse_sfen
from engine.rules.variants import JUDKINS, MINISHOGI, SHOGI, VARIANTS, handicap_sfen

TABLE = Path(__file__).parent / "data" / "rule_cases.tsv"


def cases(kind: str) -> list[tuple[str, ...]]:
    with TABLE.open(encoding="utf-8") as lines:
        rows = csv.reader((line for line in lines if not line.startswith("#")), delimiter="\t")
        return [tuple(row[1:]) for row in rows if row[0] == kind]


def played(sfen: str | None, moves: str, variant: str = "shogi") -> Board:
    board = Board(sfen, variant, strict=False)
    for move in moves.split():
        board.push_usi(move)
    return board


@kernel()
def probe_repetition(P, plies, at_once):  # type: ignore[no-untyped-def]
    return repetition(P, plies, at_once)


@kernel()
def probe_limit(P, C):  # type: ignore[no-untyped-def]
    return move_limit_reached(P, C)


def repetition_class(board: Board, plies: int = 1000, at_once: int = 1001) -> int:
    return int(probe_repetition(board._position, plies, at_once))


def rules_record(rule: str, points: tuple[int, int] = (0, 0)) -> np.void:
    shared = new_record(SHARED)
    shared["impasse_rule"], shared["impasse_points"] = rule_index(rule), points
    return shared


# the table


@pytest.mark.parametrize(("variant", "sfen", "moves", "move", "expected"), cases("legality"))
def test_legality(variant: str, sfen: str, moves: str, move: str, expected: str) -> None:
    board = played(sfen, moves, variant)
    code = parse_usi(move, board.variant)
    assert board.is_legal(code) == (expected == "legal")
    assert (code in list(board.legal_moves)) == (expected == "legal")


@pytest.mark.parametrize(("variant", "sfen", "moves", "move", "expected"), cases("repetition"))
def test_fourfold_repetition(variant: str, sfen: str, moves: str, move: str, expected: str) -> None:
    board = played(sfen, moves, variant)
    outcome = board.outcome()
    if expected == "none":
        assert outcome is None
    elif expected == "draw":
        assert outcome is not None
        assert (outcome.termination, outcome.winner) == (Termination.REPETITION, None)
    else:
        loser = board.turn if expected == "side-to-move-loses" else 1 - board.turn
        assert outcome is not None
        assert (outcome.termination, outcome.winner) == (Termination.PERPETUAL_CHECK, 1 - loser)


@pytest.mark.parametrize(("variant", "sfen", "moves", "move", "expected"), cases("declaration"))
def test_declaration(variant: str, sfen: str, moves: str, move: str, expected: str) -> None:
    board = played(sfen, moves, variant)
    by27, by24 = expected.split()
    count = board.impasse()
    assert count.verdict27 == by27
    assert by24 in ("-", count.verdict24)
    for rule, verdict in (("CSARule27", by27), ("CSARule24", count.verdict24)):
        shared = rules_record(rule, entering_points(SHOGI, parse_sfen(SHOGI.start_sfen, SHOGI), rule))
        assert declaration(board._position, board._tables, shared) == (DECLARED if verdict == "win" else 0)
        assert board.may_declare(rule) == (verdict == "win")
    assert (board.outcome(declare=True) is None) == (by27 == "none")


@pytest.mark.parametrize(("variant", "sfen", "moves", "move", "expected"), cases("declaration-handicap"))
def test_declaration_in_a_handicap_game(variant: str, sfen: str, moves: str, move: str, expected: str) -> None:
    board = played(sfen, moves, variant)
    by27, by24 = expected.split()
    count = board.impasse(handicap=True)
    assert (count.verdict27, count.verdict24) == (by27, by24)
    for rule, verdict in (("CSARule27H", by27), ("CSARule24H", by24)):
        shared = rules_record(rule, entering_points(SHOGI, board.root(), rule))
        assert declaration(board._position, board._tables, shared) == (DECLARED if verdict == "win" else 0)
        assert board.may_declare(rule) == (verdict == "win")
    assert not board.may_declare("CSARule27")


def test_white_declares_with_17_points_in_a_two_piece_game() -> None:
    placement = parse_sfen("9/9/9/9/9/9/3p1lllg/+P+P2kssgg/K+P4ssg w r 2", SHOGI)
    start = parse_sfen(handicap_sfen(SHOGI, "2"), SHOGI)
    needed = entering_points(SHOGI, start, "CSARule27H")
    count = impasse_count(placement, SHOGI)
    assert needed == (28, 17)
    assert count.white.may_declare
    assert needed[WHITE] <= count.white.points < 27


@pytest.mark.parametrize(("variant", "sfen", "moves", "move", "expected"), cases("try"))
def test_try_rule(variant: str, sfen: str, moves: str, move: str, expected: str) -> None:
    board = played(sfen, moves, variant)
    found = int(try_move(board._position, board._tables))
    assert format_usi(found) == (move if expected == "try" else "none")
    assert int(declaration(board._position, board._tables, rules_record("TryRule"))) == found
    assert not int(declaration(board._position, board._tables, rules_record("NoEnteringKing")))
    if expected == "try":
        board.push_usi(move)
        outcome = board.outcome("TryRule")
        assert outcome is not None
        assert (outcome.termination, outcome.winner) == (Termination.TRY, BLACK)
        assert board.outcome() is None


@pytest.mark.parametrize(
    ("sfen", "variant", "move"),
    [
        ("4K4/9/9/9/9/9/9/2k6/9 w - 1", "shogi", "none"),
        ("4K4/9/9/9/9/9/9/3k5/9 w - 1", "shogi", "6h5i"),
        ("4K4/9/9/9/9/9/9/4k4/9 w - 1", "shogi", "5h5i"),
        ("4K4/9/9/9/9/9/9/4k4/4g4 w - 1", "shogi", "none"),
        ("4K4/9/9/9/9/9/9/4k4/4G4 w - 1", "shogi", "5h5i"),
        ("1K7/9/9/9/9/9/9/3k5/5G3 w - 1", "shogi", "none"),
        ("6/4K1/6/6/6/k5 b - 1", "judkins", "2b1a"),
        ("5/3K1/5/5/k4 b - 1", "minishogi", "2b1a"),
    ],
)
def test_who_may_try(sfen: str, variant: str, move: str) -> None:
    board = Board(sfen, variant)
    assert format_usi(int(try_move(board._position, board._tables))) == move


# repetition classes


SHUFFLE = "5i4h 5a4b 4h5i 4b5a"


def test_a_repetition_within_the_plies_asked_for() -> None:
    board = played(None, SHUFFLE)
    assert repetition_class(board) == DRAW
    assert repetition_class(board, plies=4) == DRAW
    assert repetition_class(board, plies=3) == NONE
    assert board.is_repetition(2)
    assert not board.is_repetition(3)
    board.push_usi("7g7f")
    assert repetition_class(board) == NONE


def test_what_lies_before_the_root_counts_the_second_time() -> None:
    board = played(None, SHUFFLE)
    assert repetition_class(board, at_once=5) == DRAW
    assert repetition_class(board, at_once=4) == NONE
    for move in SHUFFLE.split():
        board.push_usi(move)
    assert repetition_class(board, at_once=4) == DRAW
    assert repetition_class(board, at_once=0) == DRAW
    assert repetition_class(board, plies=7, at_once=0) == NONE


def test_repetition_never_looks_past_a_pass() -> None:
    board = played(None, SHUFFLE)
    board.push_null()
    board.push_null()
    assert repetition_class(board) == NONE
    assert not board.is_repetition(2)
    for move in SHUFFLE.split():
        board.push_usi(move)
    assert repetition_class(board) == DRAW
    assert board.is_repetition(2)
    assert not board.is_repetition(3)


def test_a_longer_way_round_is_found_too() -> None:
    board = played(None, "5i4h 5a4b 4h3h 4b3b 3h4h 3b4b 4h5i 4b5a")
    assert repetition_class(board, plies=8) == DRAW
    assert repetition_class(board, plies=7) == NONE


@pytest.mark.parametrize(
    ("sfen", "moves", "expected"),
    [
        # black has thrown a pawn away
        ("4k4/9/9/9/9/9/9/9/4K4 b P 1", "P*5b 5a5b 5i4i 5b4a 4i5i 4a5a", INFERIOR),
        # white has won it
        ("4k4/9/9/9/9/9/9/9/4K4 w P 1", "5a4a P*4b 4a4b 5i4i 4b5a 4i5i", SUPERIOR),
        ("4k4/9/9/9/9/9/9/9/4K4 w p 1", "P*5h 5i5h 5a4a 5h4i 4a5a 4i5i", INFERIOR),
        # it has lost a lance besides: neither hand contains the other
        ("4k4/9/9/9/9/9/9/9/4K4 w Pl 1", "L*5h 5i5h 5a4a P*4b 4a4b 5h4i 4b5a 4i5i", NONE),
    ],
)
def test_the_same_board_with_other_hands(sfen: str, moves: str, expected: int) -> None:
    board = played(sfen, moves)
    assert board.placement().board == board.root().board
    assert repetition_class(board) == expected
    assert repetition_class(board, at_once=len(moves.split())) == NONE


def test_perpetual_check_loses_for_the_checker() -> None:
    sfen = "4k4/9/9/9/9/9/4R4/9/8K w - 1"
    board = played(sfen, "5a4a 5g4g 4a5a 4g5g")
    assert repetition_class(board) == WIN  # white to move was checked all the way
    board = played(sfen, "5a4a 5g4g 4a5a 4g5g 5a4a")
    assert repetition_class(board) == LOSS
    board = played(sfen, "5a4a 5g4g 4a5b 4g3g 5b5a 3g5g")
    assert repetition_class(board) == DRAW  # the rook on 3g gave no check


def test_game_repetition_agrees_with_counting_positions() -> None:
    rng = random.Random(7)
    ends = {NONE: 0, DRAW: 0, WIN: 0, LOSS: 0}
    for _ in range(80):
        board = Board(
            rng.choice(["3k1/5/5/5/1K3 b - 1", "3k1/5/2R2/5/1K3 b - 1", "3k1/2r2/5/2+b2/1K3 b - 1"]), "minishogi"
        )
        seen = [(board.sfen().rsplit(" ", 1)[0], board.is_check())]
        for _ in range(30):
            moves = list(board.legal_moves)
            if not moves:
                break
            board.push(shuffling_move(board, moves, rng))
            seen.append((board.sfen().rsplit(" ", 1)[0], board.is_check()))
            expected = expected_repetition(seen)
            ends[expected] += 1
            assert game_repetition(board._position) == expected
            assert count_occurrences(board._position) == [text for text, _ in seen].count(seen[-1][0])
    assert all(ends.values()), ends


def shuffling_move(board: Board, moves: list[Move], rng: random.Random) -> Move:
    """Mostly back to where the piece came from, so that positions repeat; else a check if there is one."""
    if len(board.move_stack) >= 2 and rng.random() < 0.9:
        last = board.move_stack[-2]
        back = [move for move in moves if move.from_square == last.to_square and move.to_square == last.from_square]
        if back:
            return back[0]
    checks = [move for move in moves if board.gives_check(move)]
    return rng.choice(checks or moves)


def expected_repetition(seen: list[tuple[str, bool]]) -> int:
    """The rule, word for word, on the list of positions and whether the side to move is in check in each."""
    same = [ply for ply, (text, _) in enumerate(seen) if text == seen[-1][0]]
    if len(same) < 4:
        return NONE
    span = [check for _, check in seen[same[-4] + 1 :]]  # after each move of the span
    mine, theirs = all(span[0::2]), all(span[1::2])  # the side to move made the first move of the span
    return DRAW if mine == theirs else LOSS if mine else WIN


# counting


@pytest.mark.parametrize(
    ("handicap", "missing"),
    [
        (None, 0),
        ("lance", 1),
        ("bishop", 5),
        ("rook", 5),
        ("rook-lance", 6),
        ("2", 10),
        ("4", 12),
        ("6", 14),
        ("8", 16),
        ("10", 18),
    ],
)
def test_points_needed_in_handicap_games(handicap: str | None, missing: int) -> None:
    start = parse_sfen(handicap_sfen(SHOGI, handicap) if handicap else SHOGI.start_sfen, SHOGI)
    assert entering_points(SHOGI, start, "CSARule27") == (28, 27)
    assert entering_points(SHOGI, start, "CSARule24") == (31, 31)
    assert entering_points(SHOGI, start, "CSARule27H") == (28, 27 - missing)
    assert entering_points(SHOGI, start, "CSARule24H") == (31, 31 - missing)
    assert entering_points(SHOGI, start, "NoEnteringKing") == entering_points(SHOGI, start, "TryRule") == (0, 0)


def test_rule_names_stand_in_the_order_of_the_usi_option() -> None:
    assert IMPASSE_RULES == ("NoEnteringKing", "CSARule24", "CSARule24H", "CSARule27", "CSARule27H", "TryRule")
    with pytest.raises(ValueError, match="'CSARule28'.*TryRule"):
        rule_index("CSARule28")


@pytest.mark.parametrize("variant", list(VARIANTS.values()), ids=lambda v: v.name)
def test_each_side_starts_with_half_of_the_points(variant: object) -> None:
    count = impasse_count(parse_sfen(variant.start_sfen, variant), variant)  # type: ignore[attr-defined]
    assert count.black.all_points == count.white.all_points == variant.points // 2  # type: ignore[attr-defined]
    assert (count.black.points, count.white.points) == (0, 0)
    assert count.agreed24 == "draw"
    assert count.verdict24 == count.verdict27 == "none"


@pytest.mark.parametrize(
    ("sfen", "variant", "agreed"),
    [
        ("K8/9/9/9/9/9/9/9/8k b 2R2B4P4g4s4n4l14p 1", SHOGI, "draw"),
        ("K8/9/9/9/9/9/9/9/8k b 2R2B3P4g4s4n4l15p 1", SHOGI, "white"),
        ("K8/9/9/9/9/9/9/9/8k b 2R2B4G4S3Pp4n4l14p 1", SHOGI, "black"),
        ("K8/9/9/9/9/9/9/9/8k b 2RBP2GSb3s2g4n4l17p 1", SHOGI, "white"),
        ("5K/6/6/6/6/k5 b 2R2Bgsnp 1", JUDKINS, "black"),
        ("5K/6/6/6/6/k5 b RB2G2S2N2Prb 1", JUDKINS, "black"),
        ("5K/6/6/6/6/k5 b RBG2SN2Prbgn 1", JUDKINS, "black"),
        ("5K/6/6/6/6/k5 b RBGSNPrbgsnp 1", JUDKINS, "draw"),
        ("4K/5/5/5/k4 b RBGSPrbgsp 1", MINISHOGI, "draw"),
        ("4K/5/5/5/k4 b Rr2b2g2s2p 1", MINISHOGI, "white"),
    ],
)
def test_an_agreed_impasse_counts_everything(sfen: str, variant: object, agreed: str) -> None:
    assert impasse_count(parse_sfen(sfen, variant), variant).agreed24 == agreed  # type: ignore[arg-type]


def test_no_declaration_in_check_or_without_the_king() -> None:
    assert Board("2SGS4/+B1GKGLLRB/3G5/9/9/9/9/9/k8 b R 1").may_declare()
    checked = Board("2SGS4/+B1GKGLLRB/3g5/9/9/9/9/9/k8 b RP 1")
    assert checked.is_check()
    assert checked.impasse().black.points >= 28
    assert not checked.may_declare()
    shared = rules_record("CSARule27", (28, 27))
    assert not declaration(checked._position, checked._tables, shared)
    kingless = Board("2SGS4/+B1G1GLLRB/3G5/9/9/9/9/9/k8 b RP 1")
    assert kingless.impasse().black.points >= 28
    assert not kingless.may_declare()
    assert not declaration(kingless._position, kingless._tables, shared)


def test_the_compiled_count_is_the_counted_one() -> None:
    rng = random.Random(3)
    yes = 0
    for _ in range(200):
        board = random_entering_position(rng)
        needed = (rng.randrange(5, 25), rng.randrange(5, 25))
        count = board.impasse()
        mover = (count.black, count.white)[board.turn]
        expected = mover.may_declare and mover.points >= needed[board.turn]
        yes += expected
        assert bool(declaration(board._position, board._tables, rules_record("CSARule27", needed))) == expected
    assert 20 < yes < 180


def random_entering_position(rng: random.Random) -> Board:
    """Both kings in the other's camp among many promoted pieces, and some in hand."""
    while True:
        cells = [[""] * 9 for _ in range(9)]
        for letters, ranks in (("K", (0, 1, 2)), ("k", (6, 7, 8))):
            cells[rng.choice(ranks)][rng.randrange(9)] = letters
        for letter, number in (("+P", 16), ("+L", 4), ("+N", 4), ("+S", 4), ("G", 4), ("+B", 2), ("+R", 2)):
            for _ in range(rng.randrange(number // 2, number + 1)):
                black = rng.random() < 0.5
                rank = rng.choice((0, 1, 2) if black else (6, 7, 8)) if rng.random() < 0.7 else rng.randrange(9)
                column = rng.randrange(9)
                if not cells[rank][column]:
                    cells[rank][column] = letter if black else letter.lower()
        ranks = ["".join(cell or "1" for cell in rank) for rank in cells]
        try:
            return Board(f"{'/'.join(ranks)} {rng.choice('bw')} {rng.choice(['-', 'P', '2Pp', '2p'])} 1")
        except ValueError:
            continue


# limits and stalemate


@pytest.mark.parametrize(("limit", "reached"), [(0, False), (4, True), (5, False), (3, True)])
def test_move_limit(limit: int, reached: bool) -> None:
    board = played(None, "7g7f 3c3d 2g2f 8c8d")
    shared = new_record(SHARED)
    shared["max_moves"] = limit
    assert bool(probe_limit(board._position, shared)) == reached
    outcome = board.outcome(max_moves=limit)
    assert (outcome is not None and outcome.termination is Termination.MOVE_LIMIT) == reached


def test_the_move_limit_counts_from_the_sfens_move_number() -> None:
    board = Board("4k4/9/9/9/9/9/9/9/4K4 b - 320")
    assert board.outcome(max_moves=320) is None
    board.push_usi("5i5h")
    assert board.outcome(max_moves=320) is not None


def test_mate_on_the_last_move_is_mate() -> None:
    board = played("4k4/9/4P4/9/9/9/9/9/4K4 b G 256", "G*5b")
    outcome = board.outcome(max_moves=256)
    assert outcome is not None
    assert (outcome.termination, outcome.winner) == (Termination.CHECKMATE, BLACK)


def test_no_legal_move_loses() -> None:
    board = Board("k8/9/1+R7/9/9/9/9/9/8K w - 1")
    assert not board.is_check()
    assert not board.legal_moves
    outcome = board.outcome()
    assert outcome is not None
    assert (outcome.termination, outcome.winner) == (Termination.NO_MOVES, BLACK)
    assert outcome.result() == "1-0"
