"""Making books: from games, by search, out of others; and the command `narikin book`."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from engine.rules.board import Board
from engine.search.limits import Info, Result
from usi.book.build import GameCounter, merge
from usi.book.entry import BookError, BookMove, Entry
from usi.book.explore import Effort, Explorer, Journal, book_move, carried_back
from usi.book.file import read_entries
from usi.main import main
from usi.protocol import Position
from usi.records.files import read_games

START = Board().sfen().rpartition(" ")[0]
GAMES = """startpos moves 7g7f 3c3d 2g2f 8c8d
startpos moves 7g7f 3c3d 6g6f
startpos moves 2g2f 8c8d 7g7f
startpos moves 7g7f 8c8d 2g2f
"""


def key_after(*moves: str) -> str:
    board = Board()
    for move in moves:
        board.push_usi(move)
    return board.sfen().rpartition(" ")[0]


# ---------------------------------------------------------------- from games


def counted(plies: int = 24, **settings: bool) -> dict[str, Entry]:
    counter = GameCounter(plies, **settings)
    for game in read_games(GAMES.encode(), "games.usi"):
        counter.add(game)
    return {entry.key: entry for entry in counter.entries()}


def test_moves_are_counted_position_by_position_and_transpositions_meet() -> None:
    book = counted()
    assert [(move.move, move.count) for move in book[START].moves] == [("7g7f", 3), ("2g2f", 1)]
    assert [(move.move, move.count) for move in book[key_after("7g7f")].moves] == [("3c3d", 2), ("8c8d", 1)]
    assert book[key_after("7g7f")].ply == 2
    assert key_after("2g2f", "8c8d", "7g7f") not in book  # both games end there
    assert sum(move.count or 0 for entry in book.values() for move in entry.moves) == 13


def test_only_the_first_plies_and_frequent_moves_are_kept() -> None:
    assert set(counted(plies=1)) == {START}
    counter = GameCounter(24)
    for game in read_games(GAMES.encode(), "games.usi"):
        counter.add(game)
    assert {entry.key for entry in counter.entries(at_least=2)} == {START, key_after("7g7f")}


class Won:
    """A game that black resigns or white resigns."""

    start, variant = Board().sfen(), "shogi"

    def __init__(self, moves: str, end: str | None) -> None:
        self._moves, self.end = moves.split(), end

    def moves(self) -> list[str]:
        return self._moves

    def side_at(self, ply: int) -> int:
        return ply % 2


@pytest.mark.parametrize(
    ("moves", "end", "kept"),
    [("7g7f 3c3d 2g2f", "TORYO", {"7g7f", "2g2f"}), ("7g7f 3c3d", "TORYO", {"3c3d"}), ("7g7f 3c3d", None, set())],
)
def test_winners_moves_only(moves: str, end: str | None, kept: set[str]) -> None:
    counter = GameCounter(24, winners=True)
    counter.add(Won(moves, end))
    assert {move.move for entry in counter.entries() for move in entry.moves} == kept


# ---------------------------------------------------------------- out of others


def test_merging_joins_positions_and_keeps_what_only_one_knows() -> None:
    first = [Entry(START, 1, (BookMove("7g7f", None, 10, 5, 1),), ("a",))]
    second = [
        Entry(START, 1, (BookMove("2g2f", None, 50, 9, 1), BookMove("7g7f", "3c3d", 20, 9, 2))),
        Entry("x b -", 3, ()),
    ]
    joined, other = merge([first, second])
    assert joined == Entry(START, 1, (BookMove("2g2f", None, 50, 9, 1), BookMove("7g7f", "3c3d", 20, 9, 3)), ("a",))
    assert other.key == "x b -"


def test_merging_keeps_move_numbers_apart_unless_told_otherwise() -> None:
    books = [[Entry(START, ply, (BookMove("7g7f", count=1),))] for ply in (3, 1)]
    assert [entry.ply for entry in merge(books)] == [3, 1]
    assert merge(books, ignore_ply=True) == [Entry(START, 1, (BookMove("7g7f", count=2),))]


# ---------------------------------------------------------------- by search


def think(sfen: str) -> Result:
    """Three legal moves with scores that hang on the position."""
    moves = sorted(map(str, Board(sfen).legal_moves))
    key = sfen.rpartition(" ")[0]
    lines = []
    for number in range(3):
        value = zlib.crc32(f"{key} {number}".encode())
        lines.append(Info(depth=5, multipv=number + 1, score_cp=value % 100, pv=[moves[value % len(moves)]]))
    return Result(lines=lines)


def explorer(folder: Path, positions: int = 40, effort: Effort = Effort(nodes=1), **settings: object) -> Explorer:  # noqa: B008
    journal = Journal(folder / "book.work", effort, "shogi")
    return Explorer(settings.pop("think", think), effort, journal, "shogi", 6, positions, **settings)  # type: ignore[arg-type]


def test_a_tree_grows_from_its_roots_within_its_bounds(tmp_path: Path) -> None:
    entries = explorer(tmp_path).run([Position(), Position(None, ("7g7f",))])
    assert len(entries) == len({entry.key for entry in entries}) == 40
    assert {START, key_after("7g7f")} <= {entry.key for entry in entries}
    assert max(entry.ply or 0 for entry in entries) <= 8
    for entry in entries:
        scores = [move.score or 0 for move in entry.moves]
        assert scores == sorted(scores, reverse=True)


def test_a_cut_run_goes_on_to_the_same_book(tmp_path: Path) -> None:
    whole = explorer(tmp_path / "whole").run([Position()])
    searched: list[str] = []

    def dies(sfen: str) -> Result:
        if len(searched) == 15:
            raise KeyboardInterrupt
        searched.append(sfen)
        return think(sfen)

    with pytest.raises(KeyboardInterrupt):
        explorer(tmp_path, think=dies).run([Position()])
    with (tmp_path / "book.work").open("a") as file:
        file.write("sfen cut in the midd")
    again: list[str] = []

    def counts(sfen: str) -> Result:
        again.append(sfen)
        return think(sfen)

    assert explorer(tmp_path, think=counts).run([Position()]) == whole
    assert len(again) == 25 and not set(again) & set(searched)


def test_a_journal_of_other_settings_is_refused(tmp_path: Path) -> None:
    explorer(tmp_path, 3).run([Position()])
    with pytest.raises(BookError, match="other settings"):
        explorer(tmp_path, effort=Effort(nodes=2))


def test_moves_far_behind_the_best_are_left_out(tmp_path: Path) -> None:
    (entry,) = explorer(tmp_path, 1, Effort(nodes=1, margin=0)).run([Position()])
    assert len(entry.moves) == 1


def test_scores_are_carried_back_from_the_leaves() -> None:
    reply = key_after("7g7f")
    entries = [
        Entry(START, 1, (BookMove("7g7f", None, 50), BookMove("2g2f", None, 40))),
        Entry(reply, 2, (BookMove("8c8d", None, -20), BookMove("3c3d", None, -10))),
        Entry(key_after("7g7f", "8c8d"), 3, (BookMove("2g2f", None, -30),)),
    ]
    root, after, _ = carried_back(entries, "shogi")
    assert [(move.move, move.score) for move in after.moves] == [("8c8d", 30), ("3c3d", -10)]
    assert [(move.move, move.score) for move in root.moves] == [("2g2f", 40), ("7g7f", -30)]


def test_circles_in_a_book_do_not_last_for_ever() -> None:
    board, entries = Board(), []
    for move in ["5i5h", "5a5b", "5h5i", "5b5a"]:
        key, _, ply = board.sfen().rpartition(" ")
        entries.append(Entry(key, int(ply), (BookMove(move, None, 7),)))
        board.push_usi(move)
    assert {abs(move.score or 0) for entry in carried_back(entries, "shogi") for move in entry.moves} == {7}


@pytest.mark.parametrize(
    ("info", "move"),
    [
        (Info(depth=3, score_cp=5, pv=["7g7f", "3c3d"]), BookMove("7g7f", "3c3d", 5, 3, 1)),
        (Info(depth=3, mate=7, pv=["7g7f"]), BookMove("7g7f", None, 31993, 3, 1)),
        (Info(depth=3, mate=-6, pv=["7g7f"]), BookMove("7g7f", None, -31994, 3, 1)),
        (Info(depth=3, score_cp=5), None),
        (Info(depth=3, pv=["7g7f"]), None),
    ],
)
def test_lines_of_a_search_become_book_moves(info: Info, move: BookMove | None) -> None:
    assert book_move(info) == move


# ---------------------------------------------------------------- the command


def test_books_are_built_merged_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    games, first, second = tmp_path / "games.usi", tmp_path / "first.db", tmp_path / "second.db"
    games.write_text(GAMES)
    assert main(["book", "build", str(games), "--out", str(first), "--plies", "2"]) == 0
    assert main(["book", "merge", str(first), str(first), "--out", str(second)]) == 0
    assert [move.count for move in read_entries(second)[0].moves] == [
        2 * (move.count or 0) for move in read_entries(first)[0].moves
    ]
    assert main(["book", "show", str(second)]) == 0
    assert main(["book", "show", str(second), "startpos"]) == 0
    assert main(["book", "show", str(second), "startpos", "moves", "1g1f"]) == 1
    out = capsys.readouterr().out
    assert "4 games, 3 positions, 5 moves" in out
    lines = out.splitlines()
    assert [line.split() for line in lines if line.startswith("7g7f")] == [["7g7f", "6", "75.0", "%", "7g7f", "3c3d"]]
    assert lines[-1] == "not in the book"


def test_a_book_grows_by_search_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "book.db"
    words = ["book", "search", "--out", str(path), "--nodes", "200", "--plies", "3", "--variant", "minishogi"]
    assert main([*words, "--positions", "4"]) == 0
    assert main([*words, "--positions", "6"]) == 0
    assert "6 positions, 2 of them new" in capsys.readouterr().out
    assert path.read_text().splitlines()[1].startswith("# narikin book search: 200 nodes, 4 lines, margin 60, ")
    entries = read_entries(path)
    assert len(entries) == 6
    for entry in entries:
        board = Board(entry.sfen, "minishogi")
        assert all(board.is_legal(board.parse_usi(move.move)) for move in entry.moves)
        assert all(move.depth and move.score is not None for move in entry.moves)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["book"], "ACTION"),
        (["book", "show", "nowhere.db"], "nowhere.db"),
        (["book", "build", "nowhere.kif", "--out", "x"], "nowhere.kif"),
        (["book", "merge", "--out", "x"], "BOOK"),
        (["book", "search"], "--out"),
    ],
)
def test_bad_words_are_refused_in_one_line(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(words)
    except SystemExit as exit:
        code = int(exit.code or 0)
    error = capsys.readouterr().err
    assert (code, len(error.splitlines())) == (2, 1)
    assert complaint in error


def test_words_may_stand_behind_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mini.db"
    path.write_text("#YANEURAOU-DB2016 1.00\nsfen rbsgk/4p/5/P4/KGSBR b - 1\n5d5c none 20 5 1\n")
    assert main(["book", "show", str(path), "--variant", "minishogi", "startpos"]) == 0
    assert "5d5c" in capsys.readouterr().out


def test_bad_records_are_named_and_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad, good, out = tmp_path / "bad.usi", tmp_path / "games.usi", tmp_path / "x.db"
    bad.write_text("startpos moves 7g7f 7g7f\n")
    good.write_text(GAMES)
    assert main(["book", "build", str(bad), "nowhere.kif", str(good), "--out", str(out)]) == 0
    output, error = capsys.readouterr()
    assert "4 games" in output
    first, second = error.splitlines()
    assert f"{bad} is left out: line 1" in first
    assert second == "narikin: nowhere.kif is left out: No such file or directory"


def test_merging_leaves_out_what_is_illegal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "book.db", tmp_path / "out.db"
    path.write_text(
        f"#YANEURAOU-DB2016 1.00\nsfen {START} 1\n2g2f none 1 2 3\n2g2e none 1 2 3\nresign\nrubbish\n"
        "sfen 9/9/nonsense b - 1\n7g7f\nsfen rbsgk/4p/5/P4/KGSBR b - 1\n5d5c\n"
    )
    assert main(["book", "merge", str(path), "--out", str(out)]) == 0
    assert [[move.move for move in entry.moves] for entry in read_entries(out)] == [["2g2f"], ["5d5c"]]
    error = capsys.readouterr().err
    assert error.rstrip().endswith(
        "left out as illegal or unreadable: 1 positions, 1 moves, 1 lines that make no sense"
    )


def test_a_game_that_cannot_be_read_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    games = tmp_path / "games.usi"
    games.write_text("startpos moves 7g7f 7g7f\n")
    assert main(["book", "build", str(games), "--out", str(tmp_path / "x.db")]) == 2
    assert f"{games} is left out: line 1" in capsys.readouterr().err
    assert not (tmp_path / "x.db").exists()
