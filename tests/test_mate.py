"""The mate solver: lengths, lines, "no mate" only when proved, and held against exhaustive searches."""

from __future__ import annotations

import json
import random
import re
import signal
import threading
from collections import deque
from pathlib import Path

import numpy as np
import pytest
from numba import boolean, int64

from engine.native.jit import kernel
from engine.rules.board import Board
from engine.rules.codes import BLACK, KING, PROMOTABLE, PROMOTED, piece_of, square_of
from engine.rules.layout import position_type, tables_type
from engine.rules.movegen import generate_legal, gives_check
from engine.rules.position import make_move, new_position, refresh, set_position, unmake_move
from engine.rules.sfen import Placement, SfenError, format_sfen, parse_sfen
from engine.rules.tables import variant_tables
from engine.rules.variants import Variant, get_variant
from engine.search.limits import Info
from engine.search.mate_search import MateResult, MateSolver, solve_mate
from usi.main import run_tool

DATA = Path(__file__).parent / "data"
HARD = "1pG1B4/Gs+P6/pP7/n1ls5/3k5/nL4+r1b/1+p1p+R4/1S7/2N5K b SP2gn2l11p 1"  # Zuko 1: 69 plies
FOUR_GOLDS = "9/9/9/4k4/9/4P4/9/9/9 b 4G2r2b4s4n4l17p 1"


def rows(name: str) -> list[str]:
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@pytest.fixture(scope="module")
def shogi() -> MateSolver:
    return MateSolver("shogi", 64)


@pytest.fixture
def solver(shogi: MateSolver) -> MateSolver:
    shogi.clear()
    return shogi


def assert_is_mate(sfen: str, result: MateResult, variant: str = "shogi") -> None:
    """Replay the line by the rules: checks all the way, and mate at the end."""
    board = Board(sfen, variant)
    for number, move in enumerate(result.line):
        board.push_usi(move)
        assert number % 2 or board.is_check(), f"{move} gives no check"
    assert board.is_checkmate()


# ---------------------------------------------------------------- known problems


@pytest.mark.parametrize("row", rows("mates.tsv") + rows("long_mates.tsv"))
def test_the_shortest_mate_is_found_and_its_line_played_out(solver: MateSolver, row: str) -> None:
    plies, sfen = row.split("\t")
    result = solver.solve(sfen, nodes=2_000_000)
    assert (result.status, result.plies, result.exact) == ("mate", int(plies), True)
    assert len(result.line) == int(plies)
    assert_is_mate(sfen, result)


@pytest.mark.parametrize("sfen", rows("no_mates.tsv")[:4])
def test_no_mate_is_proved(solver: MateSolver, sfen: str) -> None:
    result = solver.solve(sfen, nodes=500_000)
    assert (result.status, result.line, result.plies) == ("nomate", [], None)


@pytest.mark.parametrize(
    ("sfen", "plies"),
    [
        ("kn7/1s7/9/1N7/9/9/9/9/9 b P2r2b4g3s2n4l17p 1", None),  # P*9b would be uchifuzume
        ("kn7/1s7/9/1N7/9/9/9/9/9 b L2r2b4g3s2n3l18p 1", 1),  # a lance may do what a pawn may not
        ("7nk/9/7Gp/6+RP1/9/9/1+p7/9/K8 b Pr2b3g4s3n4l14p 1", 9),  # a pawn must not promote, to leave an escape
    ],
)
def test_a_pawn_drop_never_mates(solver: MateSolver, sfen: str, plies: int | None) -> None:
    result = solver.solve(sfen, nodes=500_000)
    assert result.plies == plies
    assert result.status == ("mate" if plies else "nomate")


def test_an_attacker_in_check_must_answer_it(solver: MateSolver) -> None:
    free = "4k4/9/4P4/9/9/9/9/9/K8 b G2r2b3g4s4n4l17p 1"
    checked = "4k4/9/4P4/9/9/9/9/r8/K8 b Gr2b3g4s4n4l17p 1"
    assert solver.solve(free).line == ["G*5b"]
    assert solver.solve(checked, nodes=10_000).status == "nomate"


def test_a_counter_check_can_be_answered_by_mate(solver: MateSolver) -> None:
    sfen = "k3l3R/p4s3/9/N8/4p4/4KBB2/9/1pp+l+l+l+n+n+n/+s+s+sggggr1 b 14p 1"
    result = solver.solve(sfen)
    assert result.plies == 7
    assert_is_mate(sfen, result)


@pytest.mark.parametrize(
    "sfen",
    [
        "8k/9/9/9/9/9/7R1/9/9 b r2b4g4s4n4l18p 1",  # a rook can check for ever
        "4k4/9/9/9/9/9/4+B4/9/9 b 2rb4g4s4n4l18p 1",
        "k8/9/9/9/4+R4/9/9/9/9 b r2b4g4s4n4l18p 1",
    ],
)
def test_checks_without_end_are_no_mate(solver: MateSolver, sfen: str) -> None:
    result = solver.solve(sfen, nodes=1_000_000)
    assert (result.status, result.line) == ("nomate", [])


def test_a_position_without_a_king_to_mate_has_no_mate(solver: MateSolver) -> None:
    assert solver.solve("9/9/9/9/9/9/9/9/4K4 b 2R2B4G4S4N4L18P 1").status == "nomate"


# ---------------------------------------------------------------- exhaustive searches


@kernel(boolean(position_type, tables_type, int64, int64))
def mates_within(P, T, plies, n):
    """Try every check and every reply: is there a mate of at most `plies` plies (odd)?"""
    end = generate_legal(P, T, n)
    for i in range(n, end):
        m = P.moves[np.uint64(i)]
        if not gives_check(P, T, m):
            continue
        make_move(P, T, m)
        replies = generate_legal(P, T, end)
        mated = True
        for j in range(end, replies):
            if plies < 3:
                mated = False
                break
            make_move(P, T, P.moves[np.uint64(j)])
            mated = mates_within(P, T, int64(plies - 2), int64(replies))
            unmake_move(P, T)
            if not mated:
                break
        unmake_move(P, T)
        if mated:
            return True
    return False


def random_position(chance: random.Random, variant: Variant, pieces: tuple[int, int, int, int]) -> str:
    """A king in trouble: SFEN with at most so many attackers, defenders, and pieces in either hand."""
    while True:
        placement = Placement(side=chance.randrange(2))
        board, attacker = placement.board, placement.side
        squares = [square_of(file, rank) for file in range(variant.width) for rank in range(variant.height)]
        edge = [s for s in squares if s // 9 in (0, variant.width - 1) or s % 9 in (0, variant.height - 1)]
        king = chance.choice(edge if chance.random() < 0.7 else squares)
        board[king] = piece_of(KING, attacker ^ 1)
        near = [s for s in squares if max(abs(s // 9 - king // 9), abs(s % 9 - king % 9)) <= 2]
        box = [kind for kind in variant.types if kind != KING for _ in range(variant.box[kind])]
        chance.shuffle(box)

        for colour, most in ((attacker, pieces[0]), (attacker ^ 1, pieces[1])):
            for _ in range(chance.randint(0, most)):
                square = chance.choice(near)
                if board[square] == 0 and box:
                    kind = box.pop()
                    promoted = kind in PROMOTABLE and chance.random() < 0.4
                    board[square] = piece_of(kind | PROMOTED if promoted else kind, colour)
        square = chance.choice(squares)
        if board[square] == 0 and chance.random() < 0.5:
            board[square] = piece_of(KING, attacker)
        for colour, most in ((attacker, pieces[2]), (attacker ^ 1, pieces[3])):
            for _ in range(min(chance.randint(0, most), len(box))):
                placement.hands[colour][box.pop()] += 1
        try:
            text = format_sfen(placement, variant)
            parse_sfen(text, variant)
            return text
        except SfenError:
            continue


@pytest.mark.parametrize(
    ("variant", "positions", "pieces"),
    [("shogi", 700, (6, 6, 4, 3)), ("judkins", 500, (5, 4, 3, 2)), ("minishogi", 500, (5, 4, 3, 2))],
)
def test_lengths_equal_those_of_an_exhaustive_search(
    variant: str, positions: int, pieces: tuple[int, int, int, int]
) -> None:
    chance = random.Random(20_261_130)
    game, T, P = get_variant(variant), variant_tables(variant), new_position()
    solver = MateSolver(variant, 4)
    seen: dict[int | None, int] = {}
    for _ in range(positions):
        sfen = random_position(chance, game, pieces)
        result = solver.solve(sfen, nodes=20_000)
        if result.status == "timeout" or (result.plies or 0) > 5:
            continue
        set_position(P, T, parse_sfen(sfen, game))
        P["all_moves"] = 1
        plies = result.plies
        if plies is None:
            assert not mates_within(P, T, 3, 0), sfen
        else:
            assert mates_within(P, T, plies, 0), sfen
            assert plies == 1 or not mates_within(P, T, plies - 2, 0), sfen
            assert_is_mate(sfen, result, variant)
        seen[plies] = seen.get(plies, 0) + 1
    assert min(seen.get(plies, 0) for plies in (None, 1, 3, 5)) >= 5, seen


@kernel(int64(position_type, tables_type, boolean, int64))
def successors(P, T, attack, n):
    """Write the moves of a player who must check (attack), or may do anything legal, to `P.moves[n:]`."""
    end = generate_legal(P, T, n)
    kept = n
    for i in range(n, end):
        m = P.moves[np.uint64(i)]
        if not attack or gives_check(P, T, m):
            P.moves[np.uint64(kept)] = m
            kept += 1
    return kept


class Graph:
    """All positions that checks and replies lead to, cycles included, and the mates found backwards from the end."""

    def __init__(self, sfen: str, variant: str, limit: int) -> None:
        self._position, self._tables = new_position(), variant_tables(variant)
        set_position(self._position, self._tables, parse_sfen(sfen, get_variant(variant)))
        self._position["all_moves"] = 1
        self._attacker = int(self._position["side"])
        self.complete = self._explore(limit)

    def _state(self) -> tuple[bytes, bytes, int]:
        P = self._position
        return P["board"].tobytes(), P["hand"].tobytes(), int(P["side"])

    def _explore(self, limit: int) -> bool:
        """Breadth first; False if there are more than `limit` positions."""
        P, T = self._position, self._tables
        states = [self._state()]
        numbers = {states[0]: 0}
        self._moves_to: list[set[int]] = []
        self._attacks: list[bool] = []
        for state in states:  # grows while it is walked
            P["board"], P["hand"] = np.frombuffer(state[0], np.int8), np.frombuffer(state[1], np.int64)
            P["side"] = state[2]
            refresh(P, T)
            self._attacks.append(state[2] == self._attacker)
            targets = set()
            for move in P["moves"][: successors(P, T, self._attacks[-1], 0)].tolist():
                make_move(P, T, move)
                after = self._state()
                unmake_move(P, T)
                if after not in numbers:
                    numbers[after] = len(states)
                    states.append(after)
                targets.add(numbers[after])
            self._moves_to.append(targets)
            if len(states) > limit:
                return False
        return True

    def plies(self) -> int | None:
        """Length of the shortest mate from the first position."""
        length: dict[int, int] = {}
        before: list[list[int]] = [[] for _ in self._moves_to]
        left = [len(moves) for moves in self._moves_to]
        for number, moves in enumerate(self._moves_to):
            for after in moves:
                before[after].append(number)
        waiting = deque(n for n, moves in enumerate(self._moves_to) if not moves and not self._attacks[n])
        length.update(dict.fromkeys(waiting, 0))
        while waiting:
            number = waiting.popleft()
            for earlier in before[number]:
                left[earlier] -= 1
                if earlier not in length and (self._attacks[earlier] or left[earlier] == 0):
                    length[earlier] = length[number] + 1
                    waiting.append(earlier)
        return length.get(0)


@pytest.mark.parametrize("row", rows("mate_graphs.tsv"))
def test_the_verdict_equals_that_of_the_whole_graph_of_positions(row: str) -> None:
    variant, sfen = row.split("\t")
    graph = Graph(sfen, variant, 4000)
    assert graph.complete
    result = MateSolver(variant, 1).solve(sfen, nodes=100_000)
    assert result.status == ("nomate" if graph.plies() is None else "mate")
    assert result.plies == graph.plies()


# ---------------------------------------------------------------- limits and memory


def test_limits_that_are_too_small_decide_nothing(solver: MateSolver) -> None:
    assert solver.solve(HARD, nodes=2000).status == "timeout"
    assert solver.solve(HARD, time_ms=1).status == "timeout"


def test_a_raised_flag_stops_at_once(solver: MateSolver) -> None:
    flag = np.ones(1, dtype=np.int64)
    result = solver.solve(HARD, stop_address=flag.ctypes.data)
    assert result.status == "timeout"
    assert result.nodes <= 1


def test_stop_ends_a_search_without_limits(solver: MateSolver) -> None:
    results: list[MateResult] = []
    thread = threading.Thread(target=lambda: results.append(solver.solve(HARD)))
    thread.start()
    while thread.is_alive():
        solver.stop()
        thread.join(0.05)
    assert results[0].status == "timeout"


def test_after_a_search_was_stopped_the_next_one_is_right(solver: MateSolver) -> None:
    solver.solve(HARD, nodes=3000)
    assert solver.solve(FOUR_GOLDS).plies == 7


def test_a_table_that_overflows_still_solves(solver: MateSolver) -> None:
    small = MateSolver("shogi", 1)
    sfen = next(row for row in rows("long_mates.tsv") if row.startswith("17")).split("\t")[1]
    result = small.solve(sfen, nodes=3_000_000)
    assert (result.plies, result.exact, len(result.line)) == (17, True, 17)
    assert_is_mate(sfen, result)


def test_what_is_known_is_not_searched_again(solver: MateSolver) -> None:
    first = solver.solve(FOUR_GOLDS)
    again = solver.solve(FOUR_GOLDS)
    assert again.line == first.line
    assert again.nodes < first.nodes // 10


def test_both_sides_can_be_attacked_with_one_table(solver: MateSolver) -> None:
    sfen = "4k4/9/4P4/9/9/9/4p4/9/4K4 {} 2G2r2b2g4s4n4l16p 1"
    assert solver.solve(sfen.format("b")).line == ["G*5b"]
    black_held = "4k4/9/4P4/9/9/9/4p4/9/4K4 w 2Gg2r2bg4s4n4l16p 1"
    assert solver.solve(black_held).line == ["G*5h"]
    assert solver.solve(sfen.format("b")).line == ["G*5b"]


def test_without_shortening_the_first_mate_is_taken(solver: MateSolver) -> None:
    sfen = next(row for row in rows("long_mates.tsv") if row.startswith("353")).split("\t")[1]
    result = solver.solve(sfen, shorten=False)
    assert result.plies is not None and result.plies > 353
    assert not result.exact
    assert_is_mate(sfen, result)


# ---------------------------------------------------------------- faces


def test_go_mate_answers_line_nomate_or_timeout(solver: MateSolver) -> None:
    P, T = new_position(), variant_tables("shogi")
    answers = []
    for sfen in (FOUR_GOLDS, rows("no_mates.tsv")[1], HARD):
        set_position(P, T, parse_sfen(sfen, get_variant("shogi")))
        answers.append(solve_mate(solver, P, nodes=3000))
    assert answers[0].checkmate == solver.solve(FOUR_GOLDS).line
    assert (answers[0].mate, answers[0].bestmove) == (7, answers[0].lines[0].pv[0])
    assert [answer.checkmate for answer in answers[1:]] == ["nomate", "timeout"]


def test_mates_are_reported_as_they_are_found(solver: MateSolver) -> None:
    infos: list[Info] = []
    sfen = rows("long_mates.tsv")[-1].split("\t")[1]
    result = solver.solve(sfen, on_info=infos.append)
    mates = [info.mate for info in infos if info.mate]
    assert mates == sorted(mates, reverse=True)
    assert mates[-1] == result.plies
    assert infos[-1].pv and infos[-1].nodes <= result.nodes


def test_the_command_prints_mates_and_verdicts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "problems.txt"
    file.write_text(f"# two\n{FOUR_GOLDS}\nsfen {rows('no_mates.tsv')[1]}  # no mate\n", encoding="utf-8")
    assert run_tool(["mate", "--hash", "4", "--file", str(file)]) == 0
    output = capsys.readouterr().out.splitlines()
    assert output[0].startswith("9/9/9/4k4")
    assert output[1].startswith("  mate in 7: G*5e ")
    assert output[3].startswith("  no mate")


def test_the_command_writes_json_and_takes_moves(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["sfen", *FOUR_GOLDS.split(), "moves", "G*5e", "5d4c"]
    assert run_tool(["mate", "--json", "--hash", "4", *words]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["status"], answer["plies"], answer["shortest"]) == ("mate", 5, True)
    assert len(answer["line"]) == 5


def test_the_command_names_the_bad_line_of_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "problems.txt"
    file.write_text(f"{FOUR_GOLDS}\n9/9/9/4x4/9/9/9/9/9 b - 1\n", encoding="utf-8")
    assert run_tool(["mate", "--file", str(file)]) == 2
    error = capsys.readouterr().err
    assert "line 2" in error and "x" in error


def test_ctrl_c_prints_what_is_known(
    solver: MateSolver, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    solve = MateSolver.solve

    def interrupted(self: MateSolver, *words: object, **settings: object) -> MateResult:
        timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
        timer.start()
        return solve(self, *words, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr(MateSolver, "solve", interrupted)
    before = signal.getsignal(signal.SIGINT)  # ignored, when the tests run in the background of a shell
    assert run_tool(["mate", "--hash", "16", "--time", "0", HARD]) == 130
    assert re.match(r"not decided  \(\d+ nodes, ", capsys.readouterr().out)
    assert signal.getsignal(signal.SIGINT) is before


def test_the_side_to_move_attacks(solver: MateSolver) -> None:
    sfen = "9/9/9/4p4/9/4K4/9/9/9 w 4g2r2b4s4n4l17p 1"
    placement = parse_sfen(sfen, get_variant("shogi"))
    assert placement.side != BLACK
    result = solver.solve(placement)
    assert result.plies == 7
    assert_is_mate(sfen, result)
