"""Training games: legal, rightly judged, the same for the same seed, and kept whole by number."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from usi.selfplay.settings import SelfplaySettings
from usi.selfplay.work import Block, in_order, play_block


def test_blocks_are_kept_by_number_however_they_finish():
    finished = [Block(number, b"") for number in (5, 3, 4, 7, 6)]
    assert [block.number for block in in_order(finished, 3)] == [3, 4, 5, 6, 7]


def test_settings_that_make_no_games_are_refused():
    with pytest.raises(ValueError, match="--nodes or --depth"):
        SelfplaySettings()
    with pytest.raises(ValueError, match="--opening-low 9 is above --opening-high 3"):
        SelfplaySettings(nodes=10, opening_low=9, opening_high=3)
    with pytest.raises(ValueError, match="--opening-high 20 leaves nothing of games of --max-plies 20"):
        SelfplaySettings(nodes=10, max_plies=20)


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


def test_block_holds_the_games_of_its_numbers(player):
    from eval.learn.archive import unpack_games
    from eval.learn.records import NO_SCORE

    settings = SelfplaySettings(nodes=100, max_plies=120, block=3)
    block = play_block(settings, 5, lambda: False, lambda plies: None)
    games = unpack_games(block.packed, "shogi")
    player.clear()
    for index in range(3):
        expected = player.play(settings.seed, 15 + index)
        first, end = games.offsets[index], games.offsets[index + 1]
        assert games.moves[first:end].tolist() == expected.moves
        scores = [None if score == NO_SCORE else score for score in games.scores[first:end].tolist()]
        assert scores == expected.scores
        assert games.results[index] == expected.result
    assert block.plies == games.offsets[-1]
    assert sum(block.endings.values()) == 3
    assert play_block(settings, 5, lambda: True, lambda plies: None) is None


def test_command_makes_continues_and_prolongs_a_file(tmp_path, capsys):
    from eval.learn.archive import read_archive
    from usi.main import main

    path = tmp_path / "games"
    words = ["selfplay", "--nodes", "50", "--block", "3", "--out", str(path), "--threads", "2", "--games"]
    assert main([*words, "9"]) == 0
    whole = path.read_bytes()
    games = read_archive(path)
    assert len(games) == 9
    assert path.stat().st_size < 6 * len(games.moves) + 500
    path.write_bytes(whole[:-3])
    assert main([*words, "6"]) == 0
    assert len(read_archive(path)) == 6
    assert main([*words, "9"]) == 0
    assert path.read_bytes() == whole
    assert main([*words, "9", "--seed", "2"]) != 0
    assert "seed" in capsys.readouterr().err


def test_missing_network_is_one_clear_error(tmp_path, capsys):
    from usi.main import main

    words = ["selfplay", "--nodes", "50", "--games", "1", "--out", str(tmp_path / "games")]
    assert main([*words, "--net", str(tmp_path / "none.bin")]) != 0
    assert "none.bin" in capsys.readouterr().err
    (tmp_path / "bad.bin").write_bytes(b"no network")
    assert main([*words, "--net", str(tmp_path / "bad.bin")]) != 0
    assert "narikin: error" in capsys.readouterr().err
    assert not (tmp_path / "games").exists()  # a file without games would be in the way of the next try
    assert main([*words, "--net", str(tmp_path)]) != 0
    assert f"--net {tmp_path}: Is a directory" in capsys.readouterr().err
    assert main(["selfplay", "--nodes", "50", "--games", "1", "--out", str(tmp_path)]) != 0
    assert f"--out {tmp_path} is a folder" in capsys.readouterr().err


HOLDER = """
import sys, time
from pathlib import Path
from usi.lock import only_process
with only_process(Path(sys.argv[1] + ".lock"), "held"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_one_process_makes_a_file_and_a_killed_one_is_not_in_the_way(tmp_path, capsys):
    from usi.lock import only_process
    from usi.main import main

    path = tmp_path / "games"
    words = ["selfplay", "--nodes", "50", "--games", "1", "--out", str(path)]
    root = Path(__file__).resolve().parent.parent
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], cwd=root, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline().strip() == b"held"
        assert main(words) == 2
        assert "is being made by another process" in capsys.readouterr().err
        assert not path.exists()
        holder.kill()
    with only_process(path.with_name("games.lock"), "held"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_file_without_games_takes_other_settings(tmp_path):
    from usi.commands.selfplay import open_archive

    path = tmp_path / "games"
    open_archive(path, SelfplaySettings(nodes=10))
    assert open_archive(path, SelfplaySettings(nodes=20)).settings["nodes"] == 20


def test_network_that_is_used_belongs_to_the_settings(tmp_path):
    from eval import shipped_network
    from usi.commands.selfplay import find_network

    assert find_network("handcrafted", "shogi") == ("handcrafted", "handcrafted")
    path = tmp_path / "net"
    path.write_bytes(b"one")
    other = tmp_path / "copy"
    other.write_bytes(b"one")
    assert find_network(str(path), "shogi")[1] == find_network(str(other), "shogi")[1]
    net, digest = find_network(None, "shogi")
    assert net is None
    assert digest == (
        find_network(str(shipped_network("shogi")), "shogi")[1] if shipped_network("shogi") else "handcrafted"
    )
