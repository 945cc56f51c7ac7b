"""Training games: the file they are kept in, and the games themselves."""

from __future__ import annotations

import bz2

import pytest

from usi.selfplay.archive import Archive, ArchiveError
from usi.selfplay.settings import SelfplaySettings
from usi.selfplay.work import Block, in_order

SETTINGS = {"seed": 1, "nodes": 100}


def lines(number: int) -> bytes:
    return b"b startpos 7g7f,%d 3c3d,-\n" % number * 3


def test_blocks_make_one_bzip2_file(tmp_path):
    archive = Archive(tmp_path / "games.txt.bz2", SETTINGS)
    for number in range(3):
        archive.append(lines(number))
    assert bz2.decompress(archive.path.read_bytes()) == lines(0) + lines(1) + lines(2)
    again = Archive(archive.path, SETTINGS)
    assert (again.blocks, again.games) == (3, 9)


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_block_that_was_cut_by_a_kill_is_dropped(tmp_path, cut):
    archive = Archive(tmp_path / "games.txt.bz2", SETTINGS)
    archive.append(lines(0))
    archive.append(lines(1))
    whole = archive.path.read_bytes()
    archive.path.write_bytes(whole[:-cut])
    again = Archive(archive.path, SETTINGS)
    assert (again.blocks, again.games) == (1, 3)
    again.append(lines(1))
    assert again.path.read_bytes() == whole


def test_rubbish_behind_the_last_block_is_dropped(tmp_path):
    archive = Archive(tmp_path / "games.txt.bz2", SETTINGS)
    archive.append(lines(0))
    whole = archive.path.read_bytes()
    archive.path.write_bytes(whole + b"BZh9 no stream at all")
    assert Archive(archive.path, SETTINGS).blocks == 1
    assert archive.path.read_bytes() == whole


def test_large_blocks_are_counted_across_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr("usi.selfplay.archive.CHUNK", 7)
    archive = Archive(tmp_path / "games.txt.bz2", SETTINGS)
    for number in range(4):
        archive.append(lines(number))
    assert Archive(archive.path, SETTINGS).blocks == 4


def test_other_settings_are_refused(tmp_path):
    Archive(tmp_path / "games.txt.bz2", SETTINGS).append(lines(0))
    with pytest.raises(ArchiveError, match="nodes"):
        Archive(tmp_path / "games.txt.bz2", SETTINGS | {"nodes": 200})
    (tmp_path / "games.txt.bz2.json").unlink()
    with pytest.raises(ArchiveError, match="cannot be read"):
        Archive(tmp_path / "games.txt.bz2", SETTINGS)


def test_blocks_are_kept_by_number_however_they_finish():
    finished = [Block(number, b"") for number in (5, 3, 4, 7, 6)]
    assert [block.number for block in in_order(finished, 3)] == [3, 4, 5, 6, 7]


def test_settings_that_make_no_games_are_refused():
    with pytest.raises(ValueError, match="--nodes or --depth"):
        SelfplaySettings()
    with pytest.raises(ValueError, match="no games"):
        SelfplaySettings(nodes=10, opening_low=9, opening_high=3)


# ---- the games ----


@pytest.fixture(scope="module")
def player():
    from engine.search.selfplay import SelfPlayer

    return SelfPlayer(SelfplaySettings(nodes=100, max_plies=120))


def replay(game, variant: str = "shogi"):
    """The board after a game, every move of which must be legal."""
    from engine import Board

    board = Board(variant=variant)
    for move in game.moves:
        assert board.outcome() is None
        board.push(move)
    return board


def test_games_are_legal_and_their_results_right(player):
    from engine.search.selfplay import BLACK_WINS, DRAWN, WHITE_WINS

    for number in range(12):
        game = player.play(seed=1, number=number)
        board = replay(game)
        outcome = board.outcome(max_moves=120, declare=True)
        if game.ending == "resignation":
            last = game.scores[-1]
            ahead = board.turn if last < 0 else 1 - board.turn
            assert abs(last) > 3000
            assert game.result == (BLACK_WINS, WHITE_WINS)[ahead]
        else:
            assert outcome is not None
            assert game.result == (DRAWN if outcome.winner is None else (BLACK_WINS, WHITE_WINS)[outcome.winner])


def test_openings_are_unscored_and_all_other_moves_scored(player):
    lengths = set()
    for number in range(8):
        game = player.play(seed=2, number=number)
        opening = sum(score is None for score in game.scores)
        assert all(score is None for score in game.scores[:opening])
        assert 4 <= opening <= 20
        assert abs(game.scores[opening]) < 600  # balanced for a search of 2000 nodes, this one is of 100
        lengths.add(opening)
    assert len(lengths) > 3


def test_announced_mates_are_those_of_the_winner(player):
    mates = 0
    for number in range(30):
        game = player.play(seed=3, number=number)
        if game.ending == "length":  # the limit may cut a mate off
            continue
        for ply, score in enumerate(game.scores):
            if score is not None and abs(score) >= 31000:
                mates += 1
                mover_wins = game.result == (1 if ply % 2 == 0 else -1)
                assert (score > 0) == mover_wins
    assert mates > 5


def test_same_seed_same_game_other_seed_other_game(player):
    player.clear()
    first = player.play(seed=5, number=7)
    player.clear()
    assert player.play(seed=5, number=7) == first
    player.clear()
    assert player.play(seed=6, number=7).moves != first.moves
    player.clear()
    assert player.play(seed=5, number=8).moves != first.moves


def test_line_of_a_game(player):
    game = player.play(seed=1, number=0)
    words = game.line().decode().split()
    assert words[:2] == [{1: "b", -1: "w", 0: "d"}[game.result], "startpos"]
    assert len(words) == len(game.moves) + 2
    assert words[2].endswith(",-")
    assert [word.split(",")[0] for word in words[2:]] == [str(move) for move in replay(game).move_stack]


@pytest.mark.parametrize("variant", ["judkins", "minishogi"])
def test_small_boards_play_too(variant):
    from engine.search.selfplay import SelfPlayer

    player = SelfPlayer(SelfplaySettings(variant=variant, depth=2))
    results = set()
    for number in range(12):
        game = player.play(seed=1, number=number)
        replay(game, variant)
        results.add(game.result)
    assert results >= {1, -1}


def test_command_makes_continues_and_prolongs_a_file(tmp_path, capsys):
    from usi.main import main

    path = tmp_path / "games.txt.bz2"
    words = ["selfplay", "--nodes", "50", "--block", "3", "--out", str(path), "--threads", "2", "--games"]
    assert main([*words, "9"]) == 0
    whole = path.read_bytes()
    assert bz2.decompress(whole).count(b"\n") == 9
    path.write_bytes(whole[:-3])
    assert main([*words, "6"]) == 0
    assert bz2.decompress(path.read_bytes()).count(b"\n") == 6
    assert main([*words, "9"]) == 0
    assert path.read_bytes() == whole
    assert main([*words, "9", "--seed", "2"]) != 0
    assert "seed" in capsys.readouterr().err


def test_missing_network_is_one_clear_error(tmp_path, capsys):
    from usi.main import main

    words = ["selfplay", "--nodes", "50", "--games", "1", "--out", str(tmp_path / "g.bz2")]
    assert main([*words, "--net", str(tmp_path / "none.bin")]) != 0
    assert "none.bin" in capsys.readouterr().err
    (tmp_path / "bad.bin").write_bytes(b"no network")
    assert main([*words, "--net", str(tmp_path / "bad.bin")]) != 0
    assert "narikin: error" in capsys.readouterr().err
