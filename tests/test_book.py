"""Opening books: the text format, lookups, the choice of a move, the options, and the engine that plays from one."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from conversation import Conversation

from engine.rules.board import Board
from engine.rules.variants import get_variant
from engine.search.limits import Info, Limits, Result
from usi.book.choose import Filters, draw, playable
from usi.book.entry import HEADER, BookError, BookMove, Entry, join_moves, parse_entry, parse_move, ranked
from usi.book.file import BookFile, read_entries, write_book
from usi.book.flip import flip_key, flip_move, flip_usi
from usi.book.player import BookPlayer, Lookup, shipped_book
from usi.options import OptionValues
from usi.protocol import Position

RECORDS = Path(__file__).resolve().parent.parent.parent / "shared" / "testdata" / "records"
START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b -"
AFTER_7G7F = "lnsgkgsnl/1r5b1/ppppppppp/9/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL w -"
AFTER_2G2F = "lnsgkgsnl/1r5b1/ppppppppp/9/9/7P1/PPPPPPP1P/1B5R1/LNSGKGSNL w -"
SMALL = f"""{HEADER}
sfen {AFTER_7G7F} 2
8c8d none 12 10 400
3c3d 2g2f 5 10 163
sfen {START} 1
#of the position
2g2f 3c3d 63 27 935
#of a move
#two lines
7g7f none 40 25 6 #on the same line
1g1f
"""


def book_of(folder: Path, text: str | bytes, on_the_fly: bool = False) -> BookFile:
    path = folder / "book.db"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return BookFile(path, on_the_fly)


def random_entries(count: int, seed: int = 1) -> list[Entry]:
    """Positions of random games with random moves and numbers."""
    source = random.Random(seed)
    entries: dict[str, Entry] = {}
    while len(entries) < count:
        board = Board()
        for _ in range(12):
            legal = list(board.legal_moves)
            key, _, ply = board.sfen().rpartition(" ")
            moves = [
                BookMove(str(move), None, source.randint(-300, 300), source.randint(1, 30), source.randint(0, 99))
                for move in source.sample(legal, 3)
            ]
            entries.setdefault(key, Entry(key, int(ply), tuple(moves)))
            board.push(source.choice(legal))
    return list(entries.values())[:count]


# ---------------------------------------------------------------- the format


@pytest.mark.parametrize("on_the_fly", [False, True])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("last_line_end", [True, False])
def test_every_variant_of_the_format_reads_alike(
    tmp_path: Path, on_the_fly: bool, bom: bytes, line_end: str, header: bool, last_line_end: bool
) -> None:
    text = SMALL if header else SMALL.removeprefix(HEADER + "\n")
    text = (text if last_line_end else text.rstrip()).replace("\n", line_end)
    book = book_of(tmp_path, bom + text.encode(), on_the_fly)
    (start,), (second,) = book.entries(START), book.entries(AFTER_7G7F)
    assert start.comments == ("of the position",)
    assert start.moves == (
        BookMove("2g2f", "3c3d", 63, 27, 935, ("of a move", "two lines")),
        BookMove("7g7f", None, 40, 25, 6, ("on the same line",)),
        BookMove("1g1f"),
    )
    assert (start.ply, second.ply) == (1, 2)
    assert [move.move for move in second.moves] == ["8c8d", "3c3d"]
    assert book.entries(AFTER_2G2F) == []
    assert {entry.key for entry in book} == {START, AFTER_7G7F}
    assert book.notes == []
    book.close()


@pytest.mark.peer
@pytest.mark.skipif(not RECORDS.is_dir(), reason="needs ../shared")
@pytest.mark.parametrize("on_the_fly", [False, True])
def test_four_files_of_a_gui_hold_the_same(on_the_fly: bool) -> None:
    books = [BookFile(path, on_the_fly) for path in sorted(RECORDS.glob("book_*.db"))]
    assert len(books) == 4
    contents = [list(book) for book in books]
    assert [book.notes for book in books] == [[]] * 4
    assert contents[1:] == contents[:-1]
    assert [(entry.ply, len(entry.moves)) for entry in contents[0]] == [(1, 3), (1, 4), (1, 3), (1, 5), (1, 3)]
    assert [move.count for move in contents[0][4].moves] == [8, 1, 1]
    assert all(book.entries(entry.key) == [entry] for book in books for entry in contents[0])
    for book in books:
        book.close()


@pytest.mark.parametrize(
    ("line", "move"),
    [
        ("7g7f 3c3d 12 30 5", BookMove("7g7f", "3c3d", 12, 30, 5)),
        ("7g7f none none none none", BookMove("7g7f")),
        ("7g7f", BookMove("7g7f")),
        ("P*5e 8h2b+ -1 0", BookMove("P*5e", "8h2b+", -1, 0)),
        ("7i6h none   8", BookMove("7i6h", None, None, None, 8)),  # some programs leave unknown values empty
        ("  8h2b+\tnone  +3  4 1 // x", BookMove("8h2b+", None, 3, 4, 1)),
        ("7g7f 3c3d high 30 5", BookMove("7g7f", "3c3d", None, 30, 5)),
        ("none none 0 0 0", None),
        ("7x7f", None),
        ("hello", None),
        ("", None),
    ],
)
def test_move_lines(line: str, move: BookMove | None) -> None:
    assert parse_move(line) == move


def test_lines_that_make_no_sense_are_named_and_the_rest_is_read() -> None:
    complaints: list[str] = []
    entry = parse_entry([f"{START} 1", "7g7f", "what is this", "resign", "2g2f none 1 2 3"], complaints)
    assert [move.move for move in entry.moves] == ["7g7f", "2g2f"]
    assert complaints == ["what is this"]


def test_a_written_book_reads_the_same_and_is_sorted(tmp_path: Path) -> None:
    entries = [*random_entries(300), *parse_and_keep(SMALL)]
    path = tmp_path / "new" / "out.db"
    write_book(path, entries)
    lines = path.read_bytes().split(b"\n")
    assert lines[0] == HEADER.encode()
    keys = [line for line in lines if line.startswith(b"sfen ")]
    assert keys == sorted(keys)
    assert sorted(read_entries(path), key=str) == sorted(entries, key=str)
    assert [file.name for file in path.parent.iterdir()] == ["out.db"]


def parse_and_keep(text: str) -> Iterator[Entry]:
    for part in text.split("\nsfen ")[1:]:
        yield parse_entry(part.splitlines())


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02\x03" * 100, b"hello\n", HEADER.encode()])
@pytest.mark.parametrize("on_the_fly", [False, True])
def test_what_is_no_book_is_refused_with_a_reason(tmp_path: Path, content: bytes, on_the_fly: bool) -> None:
    with pytest.raises(BookError, match="book.db"):
        book_of(tmp_path, content, on_the_fly)


def test_a_missing_file_is_refused_with_a_reason(tmp_path: Path) -> None:
    with pytest.raises(BookError, match="nowhere.db: No such file"):
        BookFile(tmp_path / "nowhere.db")


def test_a_line_that_makes_no_sense_is_found_when_a_book_is_loaded(tmp_path: Path) -> None:
    book = book_of(tmp_path, SMALL.replace("3c3d 2g2f 5", "abc 5"))
    assert "line 4 ('abc 5 10 163')" in book.notes[0]
    assert [move.move for move in book.entries(AFTER_7G7F)[0].moves] == ["8c8d"]
    with pytest.raises(BookError, match="line 4"):
        read_entries(book.path)


# ---------------------------------------------------------------- lookups


def test_unsorted_and_on_the_fly_find_what_memory_finds(tmp_path: Path) -> None:
    entries = random_entries(3000)
    write_book(tmp_path / "sorted.db", entries)
    memory, disk = BookFile(tmp_path / "sorted.db"), BookFile(tmp_path / "sorted.db", on_the_fly=True)
    shuffled = entries[:]
    random.Random(2).shuffle(shuffled)
    text = "\n".join(line for entry in shuffled for line in entry.lines())
    unsorted_book = book_of(tmp_path, text)
    assert disk.notes == unsorted_book.notes == []
    for entry in entries:
        assert memory.entries(entry.key) == disk.entries(entry.key) == unsorted_book.entries(entry.key) == [entry]
    for other in random_entries(300, seed=9):
        assert memory.entries(other.key) == disk.entries(other.key)
    assert list(memory) == list(disk)
    disk.close()


def test_an_unsorted_book_is_read_whole_in_spite_of_the_option(tmp_path: Path) -> None:
    entries = sorted(random_entries(50), key=lambda entry: entry.key, reverse=True)
    book = book_of(tmp_path, "\n".join(line for entry in entries for line in entry.lines()), on_the_fly=True)
    assert "not sorted" in book.notes[0]
    assert all(book.entries(entry.key) == [entry] for entry in entries)


@pytest.mark.parametrize("variant", ["shogi", "judkins", "minishogi"])
def test_a_flipped_position_has_the_flipped_moves(variant: str) -> None:
    source = random.Random(3)
    for _ in range(10):
        board = Board(None, variant)
        for _ in range(30):
            legal = list(board.legal_moves)
            if not legal:
                break
            key = board.sfen().rpartition(" ")[0]
            other = Board(f"{flip_key(key)} 1", variant)
            assert flip_key(flip_key(key)) == key
            moves = {flip_usi(str(move), get_variant(variant)) for move in legal}
            assert moves == {str(move) for move in other.legal_moves}
            board.push(source.choice(legal))


def test_the_book_is_looked_up_flipped_with_its_answers_and_scores(tmp_path: Path) -> None:
    book = book_of(tmp_path, SMALL)
    board = Board(f"{flip_key(START)} 8")
    assert Lookup(flipped=False).moves(book, board) == []
    moves = Lookup().moves(book, board)
    assert [(move.move, move.ponder, move.score) for move in moves] == [
        ("8c8d", "7g7f", 63),
        ("3c3d", None, 40),
        ("9c9d", None, None),
    ]
    assert flip_move(flip_move(moves[0], board.variant), board.variant) == moves[0]


def test_the_move_number_counts_only_on_demand(tmp_path: Path) -> None:
    book = book_of(tmp_path, SMALL)
    late = Board(f"{START} 15")
    assert Lookup(ignore_ply=False).moves(book, late) == []
    assert Lookup(ignore_ply=False).moves(book, Board()) == Lookup().moves(book, late) != []
    without = book_of(tmp_path, SMALL.replace("b - 1\n", "b -\n"))
    assert Lookup(ignore_ply=False).moves(without, late) != []


def test_entries_under_several_move_numbers_are_joined(tmp_path: Path) -> None:
    text = f"sfen {START} 1\n7g7f none 10 20 3\nsfen {START} 3\n7g7f none 15 25 4\n2g2f none 9 9 1\n"
    book = book_of(tmp_path, text)
    assert [str(move) for move in Lookup().moves(book, Board())] == ["7g7f none 15 25 7", "2g2f none 9 9 1"]
    assert [str(move) for move in Lookup(ignore_ply=False).moves(book, Board())] == ["7g7f none 10 20 3"]


def test_illegal_moves_are_never_found(tmp_path: Path) -> None:
    book = book_of(tmp_path, f"sfen {START} 1\n7g7e none 900 9 9\n8h2b+ none 800 9 9\nP*5e\n7g7f none 1 9 9\n")
    assert [move.move for move in Lookup().moves(book, Board())] == ["7g7f"]


def test_a_line_follows_the_expected_answer_and_then_the_best_moves(tmp_path: Path) -> None:
    board = Board()
    board.push_usi("7g7f")
    text = SMALL + f"sfen {AFTER_2G2F} 2\n8c8d none 0 9 9\n"
    book = book_of(tmp_path, text)
    start, lookup = Board(), Lookup()
    first, second, _ = lookup.moves(book, start)
    assert lookup.line(book, start, first, 8) == ["2g2f", "3c3d"]
    assert lookup.line(book, start, second, 8) == ["7g7f", "8c8d"]
    assert lookup.line(book, start, second, 1) == ["7g7f"]
    assert start == Board() and start.move_stack == []


def test_a_line_ends_where_the_book_goes_in_circles(tmp_path: Path) -> None:
    board, text = Board(), ""
    for move in ["5i5h", "5a5b", "5h5i", "5b5a"]:
        text += f"sfen {board.sfen()}\n{move} none 0 9 9\n"
        board.push_usi(move)
    book = book_of(tmp_path, text)
    assert Lookup().line(book, Board(), BookMove("5i5h"), 100) == ["5i5h", "5a5b", "5h5i", "5b5a"]


# ---------------------------------------------------------------- the choice

CANDIDATES = [
    BookMove("2g2f", None, 60, 20, 900),
    BookMove("7g7f", None, 45, 20, 80),
    BookMove("5g5f", None, 20, 20, 20),
    BookMove("1g1f", None, -50, 20, 0),
]


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        (Filters(), 2),
        (Filters(eval_diff=0), 1),
        (Filters(eval_diff=40), 3),
        (Filters(eval_diff=999), 3),
        (Filters(eval_diff=999, black_limit=-100), 4),
        (Filters(eval_diff=999, black_limit=61), 0),
        (Filters(depth_limit=20), 2),
        (Filters(depth_limit=21), 0),
        (Filters(eval_diff=999, narrow=True), 1),
    ],
)
def test_filters(filters: Filters, left: int) -> None:
    mixed = [CANDIDATES[index] for index in (2, 0, 3, 1)]
    assert playable(mixed, True, filters) == CANDIDATES[:left]


def test_white_has_a_limit_of_its_own() -> None:
    behind = [BookMove("3c3d", None, -100, 20, 1)]
    assert playable(behind, True, Filters()) == []
    assert playable(behind, False, Filters()) == behind
    assert playable(behind, False, Filters(white_limit=-99)) == []


def test_a_book_without_scores_is_ranked_by_how_often_moves_were_played() -> None:
    moves = [BookMove("7g7f", count=5), BookMove("2g2f", count=9), BookMove("1g1f")]
    assert [move.move for move in ranked(moves)] == ["2g2f", "7g7f", "1g1f"]
    assert len(playable(moves, True, Filters())) == 3


def test_draws_are_even_or_follow_the_counts() -> None:
    even = Counter(draw(CANDIDATES, Filters(), random.Random(seed)).move for seed in range(400))
    assert len(even) == 4 and min(even.values()) > 50
    counted = Counter(draw(CANDIDATES, Filters(by_count=True), random.Random(seed)).move for seed in range(400))
    assert counted["2g2f"] > 300 and "1g1f" not in counted
    nobody = [BookMove("2g2f"), BookMove("7g7f")]
    assert {draw(nobody, Filters(by_count=True), random.Random(seed)).move for seed in range(40)} == {"2g2f", "7g7f"}


def test_two_books_words_on_one_move_are_joined() -> None:
    first = [BookMove("7g7f", None, 10, 12, 3, ("a",)), BookMove("2g2f")]
    second = [BookMove("7g7f", "8c8d", 30, 20, None, ("b",)), BookMove("5g5f", None, 1, 1, 1)]
    assert join_moves([first, second]) == [
        BookMove("7g7f", "8c8d", 30, 20, 3, ("a", "b")),
        BookMove("2g2f"),
        BookMove("5g5f", None, 1, 1, 1),
    ]


# ---------------------------------------------------------------- the options


def options_of(path: Path, **values: object) -> OptionValues:
    options = OptionValues()
    for name, value in {"BookFile": path, **values}.items():
        options.set(name, str(value).lower() if isinstance(value, bool) else str(value))
    return options


def player_of(folder: Path, text: str = SMALL, **values: object) -> tuple[BookPlayer, OptionValues]:
    path = folder / "book.db"
    path.write_text(text, encoding="utf-8")
    options = options_of(path, **values)
    player = BookPlayer(random.Random(1))
    assert player.load(options) == []
    return player, options


CLOCK = Limits(btime=60000, wtime=60000)


@pytest.mark.parametrize(
    ("limits", "uses"),
    [
        (CLOCK, True),
        (Limits(byoyomi=100), True),
        (Limits(movetime=100), True),
        (Limits(nodes=100), True),
        (Limits(btime=100, ponder=True), True),
        (Limits(depth=5), False),
        (Limits(infinite=True), False),
        (Limits(mate=1000), False),
        (Limits(btime=100, searchmoves=["7g7f"]), False),
    ],
)
def test_games_use_the_book_and_study_does_not(tmp_path: Path, limits: Limits, uses: bool) -> None:
    player, options = player_of(tmp_path)
    assert (player.answer(Position(), limits, options) is not None) is uses


@pytest.mark.parametrize(
    ("values", "position", "uses"),
    [
        ({}, Position(), True),
        ({"USI_OwnBook": False}, Position(), False),
        ({"BookMoves": 0}, Position(), False),
        ({"BookMoves": 1}, Position(None, ("7g7f",)), False),
        ({"BookMoves": 2}, Position(None, ("7g7f",)), True),
        ({"BookIgnoreRate": 100}, Position(), False),
        ({"ConsiderationMode": True}, Position(), False),
        ({"BookEvalBlackLimit": 70}, Position(), False),
        ({"BookEvalWhiteLimit": 70}, Position(), True),
        ({"BookDepthLimit": 28}, Position(), False),
        ({}, Position(f"{START} 9"), True),
        ({"IgnoreBookPly": False}, Position(f"{START} 9"), False),
        ({}, Position(flip_key(START)), True),
        ({"FlippedBook": False}, Position(flip_key(START)), False),
        ({"BookOnTheFly": True}, Position(), True),
        ({}, Position(None, ("5i5h", "5a5b", "5h5i", "5b5a")), False),
        ({"USI_Variant": "minishogi"}, Position(), False),
    ],
)
def test_options_decide_where_the_book_is_used(
    tmp_path: Path, values: dict[str, object], position: Position, uses: bool
) -> None:
    player, options = player_of(tmp_path, **values)
    assert (player.answer(position, CLOCK, options) is not None) is uses


def test_an_answer_has_score_depth_line_and_the_expected_move(tmp_path: Path) -> None:
    player, options = player_of(tmp_path, MultiPV=3, BookEvalDiff=23)
    answers = [player.answer(Position(), CLOCK, options) for _ in range(40)]
    first = next(answer for answer in answers if answer is not None and answer.result.bestmove == "2g2f")
    assert (first.result.ponder, first.result.score_cp, first.result.depth) == ("3c3d", 63, 27)
    assert [(info.multipv, info.score_cp, info.pv) for info in first.infos[:2]] == [
        (1, 63, ["2g2f", "3c3d"]),
        (2, 40, ["7g7f", "8c8d"]),
    ]
    assert first.infos[2].text == "book move: 2 of 3 moves in book.db to choose from"
    assert {answer.result.bestmove for answer in answers if answer is not None} == {"2g2f", "7g7f"}


def test_a_mate_in_a_book_is_reported_as_one(tmp_path: Path) -> None:
    player, options = player_of(tmp_path, f"sfen {START} 1\n7g7f none 31991 9 9\n")
    answer = player.answer(Position(), CLOCK, options)
    assert answer is not None
    assert (answer.result.score_cp, answer.result.mate, answer.infos[0].mate) == (None, 9, 9)


def test_a_changed_option_or_file_is_loaded_again(tmp_path: Path) -> None:
    player, options = player_of(tmp_path)
    assert player.is_current(options)
    options.set("BookDir", str(tmp_path))
    options.set("BookFile", "other.db")
    assert not player.is_current(options)
    (note,) = player.load(options)
    assert "other.db: No such file" in note and note.endswith("thinking without a book")
    assert player.answer(Position(), CLOCK, options) is None
    assert player.load(options) == []
    (tmp_path / "other.db").write_text(SMALL)
    assert not player.is_current(options)
    assert player.load(options) == []
    assert player.answer(Position(), CLOCK, options) is not None


def test_the_shipped_book_is_sound() -> None:
    path = shipped_book("shogi")
    assert path is not None and path.stat().st_size < 1_000_000
    assert shipped_book("minishogi") is None
    entries = read_entries(path)
    assert 1000 <= len(entries) == len({entry.key for entry in entries})
    assert START in {entry.key for entry in entries}
    for entry in entries:
        board = Board(entry.sfen)
        assert all(board.is_legal(board.parse_usi(move.move)) for move in entry.moves)
        scores = [move.score for move in entry.moves if move.score is not None]
        assert len(scores) == len(entry.moves) > 0 and scores == sorted(scores, reverse=True)
        assert min(move.depth or 0 for move in entry.moves) >= 8
    player, options = BookPlayer(random.Random(1)), options_of(Path("shipped"))
    assert player.load(options) == []
    assert player.answer(Position(), CLOCK, options) is not None
    options.set("USI_Variant", "judkins")
    assert player.load(options) == []
    assert player.answer(Position(), CLOCK, options) is None


# ---------------------------------------------------------------- over USI


@pytest.fixture
def talk() -> Iterator[Conversation]:
    conversation = Conversation()
    yield conversation
    if conversation.exit_code is None:
        conversation.engine.stop()
        conversation.end()


def test_a_book_move_is_played_without_a_search(talk: Conversation, tmp_path: Path) -> None:
    (tmp_path / "my book.db").write_text(SMALL)
    talk.ready(f"setoption name BookDir value {tmp_path}", "setoption name BookFile value my book.db")
    talk.ready("setoption name BookEvalDiff value 0")
    talk.send("position startpos", "go btime 1000 wtime 1000")
    lines = talk.until("bestmove")
    assert lines[-1] == "bestmove 2g2f ponder 3c3d"
    assert any("depth 27" in line and "score cp 63 pv 2g2f 3c3d" in line for line in lines)
    assert talk.engine.searches == 0
    talk.send("position startpos moves 2g2f", "go btime 1000 wtime 1000")
    assert talk.answer() == "bestmove 7g7f ponder 3c3d"  # the fake engine's own
    talk.send("position startpos", "go depth 3")
    talk.answer()
    assert talk.engine.searches == 2


def test_a_book_move_found_while_pondering_waits(talk: Conversation, tmp_path: Path) -> None:
    (tmp_path / "book.db").write_text(SMALL)
    talk.ready(f"setoption name BookFile value {tmp_path / 'book.db'}", "setoption name BookEvalDiff value 0")
    for end in ("ponderhit", "stop"):
        talk.send("position startpos", "go ponder btime 1000 wtime 1000")
        assert not any(line.startswith("bestmove") for line in talk.settle())
        talk.send(end)
        assert talk.answer() == "bestmove 2g2f ponder 3c3d"
    assert talk.engine.searches == 0


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00junk\n", HEADER.encode(), None])
def test_the_engine_goes_on_with_a_broken_book(talk: Conversation, tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "broken.db"
    if content is not None:
        path.write_bytes(content)
    talk.send(f"setoption name BookFile value {path}")
    said = [line for line in talk.settle() if line]
    assert len(said) == 1
    assert said[0].startswith(f"info string book {path}") and said[0].endswith("thinking without a book")
    talk.send("isready", "position startpos", "go btime 1000 wtime 1000")
    lines = talk.until("bestmove")
    assert lines[-1] == "bestmove 7g7f ponder 3c3d"
    assert not any("book" in line for line in lines)


def test_a_book_that_breaks_in_the_game_is_reported_and_the_search_answers(
    talk: Conversation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "book.db").write_text(SMALL)
    talk.ready(f"setoption name BookFile value {tmp_path / 'book.db'}")

    def fail(*arguments: object) -> None:
        raise RuntimeError("the disk is gone")

    monkeypatch.setattr(BookFile, "entries", fail)
    talk.send("position startpos", "go btime 1000 wtime 1000")
    lines = talk.until("bestmove")
    assert "info string error book: RuntimeError: the disk is gone" in lines
    assert lines[-1] == "bestmove 7g7f ponder 3c3d"


def test_an_infinite_search_and_an_answer_of_the_search_are_left_alone(talk: Conversation, tmp_path: Path) -> None:
    (tmp_path / "book.db").write_text(SMALL)
    talk.engine.result = Result("9g9f", score_cp=1)
    talk.engine.infos = [Info(depth=1, nodes=1, score_cp=1, pv=["9g9f"])]
    talk.ready(f"setoption name BookFile value {tmp_path / 'book.db'}")
    talk.send("position startpos", "go infinite")
    talk.settle()
    talk.send("stop")
    assert talk.answer() == "bestmove 9g9f"
