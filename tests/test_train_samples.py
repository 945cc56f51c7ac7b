"""From games to samples: inputs, filters, repeats, mirror images, quiescence leaves, division by game."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from sample_games import random_games

from engine.rules.moves import format_usi
from engine.rules.position import new_position, set_position
from engine.rules.sfen import parse_sfen
from engine.rules.tables import variant_tables
from engine.rules.variants import get_variant
from eval.features import HALF_KP, K_P, active_rows, variant_orientation
from eval.learn import packed, sources
from eval.learn.dataset import Choice, Replayer, first_of_each, held_out, smoothed
from eval.learn.inputs import mirror_table, swap_table
from eval.learn.quantise import other_views, row_numbers
from eval.learn.records import NO_SCORE, Games, format_games, parse_games, parse_siblings

VARIANTS = ("shogi", "judkins", "minishogi")


def positions_of(sfens: list[str], variant: str = "shogi") -> packed.Positions:
    positions = packed.Positions.empty(len(sfens))
    for n, sfen in enumerate(sfens):
        placement = parse_sfen(sfen, get_variant(variant))
        positions.boards[n], positions.hands[n], positions.sides[n] = placement.board, placement.hands, placement.side
    return positions


def samples_of(sfens: list[str], scores: list[int], choice: Choice | None = None) -> tuple[np.ndarray, np.ndarray]:
    numbers = np.array(scores, dtype=np.int16)
    zeros = np.zeros(len(sfens), dtype=np.int16)
    return Replayer("shogi", choice or Choice()).positions(positions_of(sfens), numbers, zeros + 1, zeros)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("name", "features"), [("kp", K_P), ("halfkp", HALF_KP)])
def test_inputs_are_the_rows_that_the_network_reads(variant: str, name: str, features: object) -> None:
    tables = variant_tables(variant)
    games = random_games(variant, 3, 60, seed=4)
    replayer = Replayer(variant, Choice(limit=32000))
    samples, _ = replayer.games(games)
    swap, oriented = swap_table(tables), variant_orientation(tables)
    position = new_position()
    start = parse_sfen(get_variant(variant).start_sfen, get_variant(variant))
    boards = {}
    for game in range(3):
        board = Board(position, tables, start)
        for at in range(games.offsets[game], games.offsets[game + 1]):
            boards[game, at - games.offsets[game]] = board.copy()
            board.push(int(games.moves[at]))
    assert len(samples) > 100
    for sample in samples:
        pieces, hands, side = boards[int(sample["game"]), int(sample["ply"])]
        views = sample["inputs"][None], other_views(sample["inputs"][None], swap)
        for perspective, view in zip((side, 1 - side), views, strict=True):
            wanted = active_rows(features, pieces, hands, perspective, oriented, pieces=0)
            used = view[0] if name == "kp" else view[0, 2:]
            rows = row_numbers(name, view)[0][used > 0]
            assert sorted(rows.tolist()) == wanted


class Board:
    """Boards and hands after moves, by the plainest means."""

    def __init__(self, position: np.void, tables: np.void, start: object) -> None:
        set_position(position, tables, start)
        self.board = [int(piece) for piece in position["board"][:81]]
        self.hands = [[0] * 8, [0] * 8]
        self.side = 0

    def copy(self) -> tuple[list[int], list[list[int]], int]:
        return self.board[:], [hand[:] for hand in self.hands], self.side

    def push(self, move: int) -> None:
        target, origin = move & 127, move >> 7 & 127
        if move >> 15:
            self.board[target] = origin | self.side << 4
            self.hands[self.side][origin] -= 1
        else:
            if self.board[target]:
                self.hands[self.side][self.board[target] & 7] += 1
            self.board[target] = self.board[origin] | (8 if move >> 14 & 1 else 0)
            self.board[origin] = 0
        self.side ^= 1


def test_checks_unscored_and_large_scores_are_left_out() -> None:
    cshogi = pytest.importorskip("cshogi")
    games = random_games("shogi", 12, 120, seed=8)
    rng = random.Random(3)
    for at in rng.sample(range(len(games.moves)), 200):
        games.scores[at] = NO_SCORE
    samples, _ = Replayer("shogi", Choice(limit=800)).games(games)
    wanted, checks = [], 0
    for game in range(len(games)):
        board = cshogi.Board()
        for at in range(games.offsets[game], games.offsets[game + 1]):
            checks += board.is_check()
            if games.scores[at] != NO_SCORE and abs(games.scores[at]) <= 800 and not board.is_check():
                result = int(games.results[game]) * (1 if board.turn == cshogi.BLACK else -1)
                wanted.append((game, at - games.offsets[game], games.scores[at], result))
            board.push_usi(format_usi(int(games.moves[at])))
    assert checks > 10
    found = [(s["game"], s["ply"], s["score"], s["result"]) for s in samples]
    assert found == wanted


def test_repeats_turned_and_mirrored_twins_have_one_key() -> None:
    sfens = [
        "lnsgkgsnl/1r5b1/ppppppppp/9/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL w - 2",
        "lnsgkgsnl/1r5b1/pppppp1pp/6p2/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 2",  # the same with colours exchanged
        "lnsgkgsnl/1b5r1/ppppppppp/9/9/6P2/PPPPPP1PP/1R5B1/LNSGKGSNL w - 2",  # the same reflected
        "lnsgkgsnl/1r5b1/ppppppppp/9/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL b - 2",  # the other side to move
    ]
    _, keys = samples_of(sfens, [0] * 4)
    assert keys[0] == keys[1] == keys[2] != keys[3]
    assert first_of_each(keys).tolist() == [0, 3]


@pytest.mark.parametrize("variant", VARIANTS)
def test_swap_and_mirror_undo_themselves_and_commute(variant: str) -> None:
    tables = variant_tables(variant)
    swap, mirror = swap_table(tables), mirror_table(int(tables["width"]))
    width, height = int(tables["width"]), int(tables["height"])
    on_board = np.array([file * 9 + rank for file in range(width) for rank in range(height)])
    numbers = np.concatenate([np.arange(1, 19), *(start + on_board for start in range(90, 1710, 81))])
    assert np.array_equal(swap[swap[numbers]], numbers)
    assert np.array_equal(mirror[mirror[numbers]], numbers)
    assert np.array_equal(mirror[swap[numbers]], swap[mirror[numbers]])
    assert not np.array_equal(mirror[numbers], numbers)


def test_leaf_is_the_end_of_the_exchange() -> None:
    samples, keys = samples_of(["k8/9/9/9/4r4/9/4R4/9/8K b - 1"], [500], Choice(leaf=True))
    plain, plain_keys = samples_of(["k8/9/9/9/4R4/9/9/9/8K w R 2"], [-500])
    assert keys.tolist() == plain_keys.tolist()
    assert sorted(samples[0]["inputs"]) == sorted(plain[0]["inputs"])
    assert (samples[0]["score"], samples[0]["result"]) == (-500, -1)


def test_defended_piece_is_left_alone() -> None:
    sfen = "k8/9/9/4g4/4p4/9/4R4/9/8K b - 1"
    assert samples_of([sfen], [500], Choice(leaf=True))[1].tolist() == samples_of([sfen], [500])[1].tolist()


def test_leaves_differ_from_their_positions_only_in_exchanges() -> None:
    games = random_games("shogi", 4, 100, seed=2)
    samples, _ = Replayer("shogi", Choice(limit=30000)).games(games)
    leaves, _ = Replayer("shogi", Choice(limit=30000, leaf=True)).games(games)
    assert 0 < len(leaves) <= len(samples)
    moved = {(s["game"], s["ply"]): s["inputs"].tolist() for s in samples}
    changed = sum(moved[s["game"], s["ply"]] != s["inputs"].tolist() for s in leaves)
    assert changed > len(leaves) // 10


def test_siblings_are_positions_after_the_other_move() -> None:
    games = parse_games(b"b startpos 7g7f,- 3c3d,-10 2g2f,20\n")
    siblings = parse_siblings(b"8c8d,44;6g6f,-55 1g1f,66;\n")
    samples, keys = Replayer("shogi", Choice()).siblings(games, siblings, source=3, first_game=7)
    wanted, wanted_keys = samples_of(
        [
            "lnsgkgsnl/1r5b1/p1ppppppp/1p7/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL b - 3",
            "lnsgkgsnl/1r5b1/pppppp1pp/6p2/9/2PP5/PP2PPPPP/1B5R1/LNSGKGSNL w - 4",
            "lnsgkgsnl/1r5b1/pppppp1pp/6p2/9/2P5P/PP1PPPPP1/1B5R1/LNSGKGSNL w - 4",
        ],
        [44, -55, 66],
    )
    assert keys.tolist() == wanted_keys.tolist()
    assert samples["score"].tolist() == [44, -55, 66]
    assert samples["ply"].tolist() == [2, 3, 3]
    assert samples["result"].tolist() == [1, -1, -1]
    assert set(samples["game"]) == {7} and set(samples["source"]) == {3}


def test_siblings_after_blunders_are_left_out() -> None:
    games = parse_games(b"b startpos 7g7f,- 3c3d,-10 2g2f,20\n")
    siblings = parse_siblings(b"8c8d,44 8c8d,310;6g6f,80 1g1f,-400;\n")
    samples, _ = Replayer("shogi", Choice(window=300)).siblings(games, siblings)
    assert samples["score"].tolist() == [44, 310, 80]


def test_siblings_of_other_games_are_refused() -> None:
    games = parse_games(b"b startpos 7g7f,- 3c3d,-10 2g2f,20\n")
    with pytest.raises(ValueError, match="belong"):
        Replayer("shogi", Choice()).siblings(games, parse_siblings(b"8c8d,44;\n"))


def test_smoothing_averages_neighbours_within_a_game() -> None:
    games = parse_games(b"b startpos 7g7f,- 3c3d,-10 2g2f,30 8c8d,50\nb startpos 7g7f,70\n")
    assert smoothed(games).scores.tolist() == [NO_SCORE, -20, -10, 50, 70]


def test_games_are_held_out_whole() -> None:
    samples, _ = Replayer("shogi", Choice()).games(random_games("shogi", 40, 30))
    held = held_out(samples, 0.1)
    assert set(samples["game"][held]) == {0, 10, 20, 30}
    assert not set(samples["game"][held]) & set(samples["game"][~held])
    assert not held_out(samples, 0).any()


def test_start_positions_of_their_own(tmp_path: Path) -> None:
    games = Games(
        "shogi",
        np.array([1, -1], dtype=np.int8),
        np.array([0, 1, 2]),
        parse_games(b"b startpos 5i5h,5 7g7f,6\n").moves,
        np.array([5, 6], dtype=np.int16),
        ["4k4/9/9/9/9/9/9/9/4K4 b R 1", ""],
    )
    _, keys = Replayer("shogi", Choice()).games(games)
    _, wanted = samples_of([games.starts[0], get_variant("shogi").start_sfen], [5, 6])
    assert keys.tolist() == wanted.tolist()


def test_every_kind_of_file_gives_the_same_samples(tmp_path: Path) -> None:
    games = random_games("shogi", 6, 60, seed=1)
    replayer = Replayer("shogi", Choice())
    wanted, _ = replayer.games(games)
    text = tmp_path / "games.txt"
    text.write_text(format_games(games))
    from eval.learn import archive

    archive.append_games(tmp_path / "games", games)
    positions, records = packed_records(games)
    records[0].tofile(tmp_path / "games.bin")
    records[1].tofile(tmp_path / "games.hcpe")
    for name in ("games.txt", "games", "games.bin", "games.hcpe"):
        data = sources.make_samples([tmp_path / name], "shogi", Choice())
        plain = sources.make_samples([text], "shogi", Choice())
        assert len(data.samples) == len(plain.samples) <= len(wanted)
        for column in ("inputs", "score", "result"):
            assert np.array_equal(data.samples[column], plain.samples[column]), (name, column)
    assert data.first_games >= 1


def packed_records(games: Games) -> tuple[packed.Positions, tuple[np.ndarray, np.ndarray]]:
    tables = variant_tables("shogi")
    start = parse_sfen(get_variant("shogi").start_sfen, get_variant("shogi"))
    positions = packed.Positions.empty(len(games.moves))
    results, plies = np.zeros(len(games.moves), dtype=np.int8), np.zeros(len(games.moves), dtype=np.uint16)
    for game in range(len(games)):
        board = Board(new_position(), tables, start)
        for ply, at in enumerate(range(games.offsets[game], games.offsets[game + 1])):
            positions.boards[at], positions.hands[at], positions.sides[at] = board.copy()
            results[at], plies[at] = games.results[game] * (1 - 2 * board.side), ply
            board.push(int(games.moves[at]))
    psv, hcpe = np.zeros(len(plies), packed.PACKED_SFEN_VALUE), np.zeros(len(plies), packed.HCPE)
    psv["sfen"], hcpe["hcp"] = packed.pack(positions, packed.SFEN_CODE), packed.pack(positions, packed.HCP_CODE)
    psv["score"] = hcpe["eval"] = games.scores
    psv["move"], hcpe["bestMove16"] = packed.moves_to_yaneuraou(games.moves), packed.moves_to_apery(games.moves)
    psv["gamePly"], psv["game_result"] = plies, results
    black = results * (1 - 2 * positions.sides)
    hcpe["gameResult"] = np.where(black == 0, 0, np.where(black > 0, 1, 2))
    return positions, (psv, hcpe)


def test_wrong_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(39))
    with pytest.raises(ValueError, match=r"a\.bin"):
        sources.make_samples([tmp_path / "a.bin"], "shogi", Choice())
    with pytest.raises(ValueError, match="standard shogi"):
        sources.make_samples([tmp_path / "a.bin"], "minishogi", Choice())
    (tmp_path / "s.txt").write_text("7g7f,1;\n")
    with pytest.raises(ValueError, match="games file"):
        sources.make_samples([tmp_path / "s.txt"], "shogi", Choice())
    (tmp_path / "bad.txt").write_text("what is this\n")
    with pytest.raises(ValueError, match=r"bad\.txt.*line 1"):
        sources.make_samples([tmp_path / "bad.txt"], "shogi", Choice())


def test_cache_is_used_again_until_the_data_change(tmp_path: Path) -> None:
    text = tmp_path / "games.txt"
    text.write_text(format_games(random_games("shogi", 3, 40)))
    notes: list[str] = []
    arguments = ([text], "shogi", Choice(), False, tmp_path / "cache")
    first = sources.cached_samples(*arguments, notes.append)
    assert any("games.txt" in note for note in notes)
    notes.clear()
    again = sources.cached_samples(*arguments, notes.append)
    assert not any("games.txt" in note for note in notes)
    assert np.array_equal(first.samples, again.samples) and first.first_games == again.first_games == 3
    text.write_text(format_games(random_games("shogi", 4, 40)))
    assert len(sources.cached_samples(*arguments, notes.append).samples) > len(first.samples)
