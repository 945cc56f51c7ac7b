"""Game records: every format read and written, what is wrong with a file said with its line, nothing half-read."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.rules.board import Board
from engine.rules.sfen import parse_sfen
from engine.rules.variants import get_variant
from usi.commands.convert import contents
from usi.main import main
from usi.match.games import record_of
from usi.match.store import GameResult
from usi.records import FORMATS, Game, Node, RecordError, ends, read_games, write_games
from usi.records.game import lines_of_play
from usi.records.handicaps import by_kif

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT.parent / "shared" / "testdata" / "records"
RICH = (ROOT / "tests" / "data" / "rich_game.kifu").read_bytes()
START = get_variant("shogi").start_sfen
KIF_HEAD = "手合割：平手\n手数----指手---------消費時間--\n"
needs_files = pytest.mark.skipif(not RECORDS.is_dir(), reason="../shared/testdata/records is not there")


def one(text: str | bytes, name: str = "", **settings: str) -> Game:
    games = read_games(text if isinstance(text, bytes) else text.encode(), name, **settings)
    assert len(games) == 1
    return games[0]


def nodes(game: Game) -> Iterator[Node]:
    yield game.root
    yield from (node for _, node in game.walk())


def facts(game: Game, keeps: frozenset[str] | None = None) -> dict[str, object]:
    """Everything a game holds that a format keeps, as plain values. Fractions of seconds are left out."""
    every = contents(game) if keeps is None else keeps
    tree = "variations" in every
    out: dict[str, object] = {"variant": game.variant, "start": game.start, "moves": game.moves()}
    if tree:
        out["lines"] = [(ply, [(node.move, more) for node, more in line]) for ply, line in lines_of_play(game.root)]
    told = list(nodes(game)) if tree else [game.root, *game.main_line(), *filter(None, [game.end_node])]
    if "comments" in every:
        out["comments"] = [(node.comments, node.bookmark) for node in told]
    if "clocks" in every:
        whole = "fractions of seconds" not in every
        seconds = [node.seconds for node in told]
        out["clocks"] = [None if s is None else int(s + 0.5) if whole else s for s in seconds]
    if "headers" in every:
        out["headers"] = dict(game.headers)
    if "ends" in every:
        out["ends"] = [node.end for node in told]
    if "illegal moves" in every:
        out["illegal"] = [node.illegal for node in told]
    if "remarks" in every:
        out["remarks"] = game.remarks
    return out


# ---------------------------------------------------------------- other people's files

REFUSED = {  # with the line and a word of the reason
    "odd_T_before_move.csa": (5, "before the first move"),
    "pythonshogi_csa_02.csa": (13, "not a line of CSA"),  # the rest of a Python file follows the game
}
STARTS = {  # boards that the libraries behind EXPECTED.tsv lose
    "odd_P00AL.csa": "4k4/9/4P4/9/9/9/9/9/4K4 b G2r2b3g4s4n4l17p 1",
    "tsshogi_kakinoki_13.kifu": "ln1g2snl/1rs1k1gb1/p1ppppppp/9/1p5P1/9/PPPPPPP1P/1BGK2SR1/LNS2G1NL b - 1",
}
UNREAD = {  # not in EXPECTED.tsv, or read by no library: plies of the main line, of all lines, end
    "shogihome_conv_utf8.ki2u": (15, [15, 15], None),
    "tsshogi_kakinoki_11.kifu": (0, [], None),
    "tsshogi_kakinoki_12.ki2u": (19, [20, 5], ends.INTERRUPTED),
    "shogihome_booksrc05.sfen": (5, [5], None),
    "shogihome_bridge29.jkf": (6, [7], ends.RESIGNATION),
    "tsshogi_sample01.jkf": (2, [2], None),
    "tsshogi_sample04.jkf": (79, [80], ends.RESIGNATION),
    "tsshogi_sample05.jkf": (6, [7], ends.RESIGNATION),
}


def expected_rows() -> dict[str, list[str]]:
    if not RECORDS.is_dir():
        return {}
    lines = (RECORDS / "EXPECTED.tsv").read_text(encoding="utf-8").splitlines()
    return {line.split("\t")[0]: line.split("\t") for line in lines if not line.startswith(("#", "file\t"))}


def record_files() -> list[str]:
    if not RECORDS.is_dir():
        return []
    return sorted(p.name for p in RECORDS.iterdir() if p.suffix not in (".tsv", ".db"))


@pytest.mark.peer
@needs_files
@pytest.mark.parametrize("name", record_files())
def test_every_file_is_read_as_expected_or_refused_with_a_reason(name: str) -> None:
    data = (RECORDS / name).read_bytes()
    if name in REFUSED:
        line, word = REFUSED[name]
        with pytest.raises(RecordError, match=word) as error:
            read_games(data, name)
        assert error.value.line == line
        return
    game = read_games(data, name)[0]
    if name in UNREAD:
        plies, lines, end = UNREAD[name]
        assert (len(game.main_line()), game.end) == (plies, end)
        assert [len(line) for _, line in lines_of_play(game.root)] == lines
        return
    row = expected_rows()[name]
    assert game.moves() == row[8].split()
    start = STARTS.get(name, row[4])
    shogi = get_variant("shogi")
    assert parse_sfen(game.start, shogi) == parse_sfen(start, shogi)
    if row[5]:
        assert game.end == row[5].removeprefix("%")


@pytest.mark.peer
@needs_files
@pytest.mark.parametrize("target", list(FORMATS))
def test_every_file_survives_every_format_that_can_hold_it(target: str) -> None:
    for name in record_files():
        if name in REFUSED:
            continue
        for game in read_games((RECORDS / name).read_bytes(), name):
            keeps = FORMATS[target].keeps - {"headers"}  # 先手 may become 下手, and 手合割 goes into the start
            again = one(write_games([game], target), format=target)
            assert facts(again, keeps) == facts(game, keeps), name
            assert again.players() == game.players() or "headers" not in FORMATS[target].keeps, name


# ---------------------------------------------------------------- what is in a record


def test_a_kif_file_is_read_with_everything_in_it() -> None:
    game = one(RICH, "rich.kifu")
    assert game.moves() == ["7g7f", "3c3d", "8h2b+", "3a2b", "B*4e", "2a3c"]
    assert game.end == ends.RESIGNATION and game.end_node
    assert game.end_node.comments == ["角が逃げても桂馬が跳ねる"] and game.end_node.seconds == 1
    assert game.players() == ("朝日 一郎", "夕日 花子")
    assert list(game.headers) == ["表題", "棋戦", "開始日時", "持ち時間", "先手", "後手"]
    assert game.remarks == ["written by hand for the tests"]
    assert game.root.comments == ["対局前の一言", "", "空行の次"] and game.root.bookmark == "開始局面"
    line = game.main_line()
    assert [node.seconds for node in line] == [6, 2, 65, 0, 3600, 10]
    assert line[2].comments == ["*評価値=-35"] and line[3].bookmark == "角交換"
    assert [child.move or child.end for child in line[1].children] == ["8h2b+", "2g2f", "封じ手"]
    assert [child.move for child in line[3].children] == ["B*4e", "7i8h"]
    variation = line[3].children[1]
    assert [child.move for child in variation.children] == ["2b3c", "7a6b"]
    assert variation.children[0].children[0].end == ends.INTERRUPTED
    assert variation.children[1].comments == ["ここで別れる"]


def test_kif_is_written_as_it_was_read() -> None:
    assert write_games(read_games(RICH), "kif").decode().splitlines() == [
        *RICH.decode().replace("手合割：平手\n", "").replace("花子\n", "花子\n手合割：平手\n").splitlines()
    ]


@pytest.mark.parametrize("target", list(FORMATS))
def test_what_a_format_keeps_comes_back_unchanged(target: str) -> None:
    game = one(RICH)
    keeps = FORMATS[target].keeps
    again = one(write_games([game], target), format=target)
    assert facts(again, keeps) == facts(game, keeps)


@pytest.mark.parametrize("target", list(FORMATS))
def test_a_written_format_is_recognised_by_its_content(target: str) -> None:
    data = write_games([one(RICH)], target)
    assert one(data).moves() == one(RICH).moves()


def random_game(seed: int, variant: str = "shogi", start: str | None = None, tree: bool = True) -> Game:
    """A game of random legal moves with random notes, clocks and variations."""
    rng = random.Random(seed)
    board = Board(start, variant)
    game = Game(board.sfen(), variant, {"棋戦": f"戦 {seed}", "先手": "甲", "後手": "乙", "備考": "a b：c"})
    if start:
        game.headers = {"棋戦": f"戦 {seed}", "下手": "甲", "上手": "乙"}

    def grow(node: Node, plies: int, depth: int) -> None:
        played = 0
        for _ in range(plies):
            legal = [move.usi() for move in board.legal_moves]
            if not legal:
                break
            moves = rng.sample(legal, min(len(legal), 1 + (tree and depth < 3 and rng.random() < 0.15)))
            children = [node.add(Node(usi, notes(), clock())) for usi in moves]
            for child in children[1:]:
                board.push_usi(str(child.move))
                grow(child, rng.randrange(6), depth + 1)
                board.pop()
            node = children[0]
            board.push_usi(str(node.move))
            played += 1
        if rng.random() < 0.5:
            words = [word for word in ends.WORDS if word != ends.ILLEGAL_MOVE] + [ends.FOULS[1 - board.turn]]
            node.add(Node(end=rng.choice(words), comments=notes(), seconds=clock()))
        for _ in range(played):
            board.pop()

    def notes() -> list[str]:
        return rng.choice([[]] * 4 + [["一つ"], ["*評価値=12", "", " 字下げ"], ["# & ' | 7六歩 ▲", "まで"]])[:]

    def clock() -> float | None:
        return rng.choice([None, 0.0, 1.0, 59.0, 60.0, 4000.0])

    grow(game.root, rng.randrange(1, 60), 0)
    return game


@pytest.mark.parametrize("target", list(FORMATS))
def test_random_games_survive_a_way_through_two_formats(target: str) -> None:
    for seed in range(6):
        start = list(by_kif().values())[seed % 16][1] if seed % 3 == 1 else None
        game = random_game(seed, start=start)
        for other in FORMATS:
            keeps = FORMATS[target].keeps & FORMATS[other].keeps
            first = one(write_games([game], target), format=target)
            second = one(write_games([first], other), format=other)
            assert facts(second, keeps) == facts(game, keeps), (seed, other)


def test_fractions_of_seconds_are_kept_by_csa_and_rounded_elsewhere() -> None:
    game = one("startpos moves 7g7f 3c3d")
    for node, seconds in zip(game.main_line(), (0.25, 61.5), strict=True):
        node.seconds = seconds
    data = write_games([game], "csa")
    assert b"V3.0\n" in data and b"T0.25\n" in data
    assert [node.seconds for node in one(data).main_line()] == [0.25, 61.5]
    assert [node.seconds for node in one(write_games([game], "kif")).main_line()] == [0, 62]


@pytest.mark.parametrize("name", list(by_kif()))
def test_handicaps_are_known_by_name(name: str) -> None:
    variant, start = by_kif()[name]
    game = one(f"手合割：{name}\n下手：甲\n上手：乙\n手数----指手---------消費時間--\n")
    assert (game.variant, game.start) == (variant, start)
    assert f"手合割：{name}".encode() in write_games([game], "kif")
    if variant == "shogi":
        for target in ("csa", "jkf", "ki2"):
            again = one(write_games([game], target), format=target)
            assert again.start == start and again.players() == ("甲", "乙")


def test_a_position_is_drawn_and_read_back() -> None:
    start = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 31"
    game = one(f"sfen {start}")
    for target in ("kif", "ki2"):
        data = write_games([game], target)
        assert one(data, format=target).start == game.start
        assert "手数＝30" in data.decode()
    for target in ("csa", "jkf"):  # they do not count moves before the start
        again = one(write_games([game], target), format=target)
        assert again.start.split()[:3] == game.start.split()[:3]


def test_rows_may_be_numbered_on_from_the_position() -> None:
    head = write_games([one(f"sfen {START[:-1]}5")], "kif").decode()
    text = head + "   5 ７六歩(77)\n   6 ３四歩(33)\n\n変化：6手\n   6 ８四歩(83)\n"
    game = one(text)
    assert game.moves() == ["7g7f", "3c3d"]
    assert [node.move for node in game.main_line()[0].children] == ["3c3d", "8c8d"]


def test_an_illegal_move_that_ended_the_game_is_kept_apart() -> None:
    rows = KIF_HEAD + "1 ７六歩(77) ( 0:03/)\n2 ３四歩(33)\n3 ５五歩打 ( 0:07/)\n*二歩\n4 反則勝ち\n"
    with pytest.raises(RecordError, match=r"line 5: illegal move '5五歩打"):
        one(rows.replace("4 反則勝ち", "4 投了"))
    with pytest.raises(RecordError, match="line 5"):
        one(rows.replace("4 反則勝ち\n", ""))
    illegal = rows.replace("５五歩打", "７八角(88)")
    game = one(illegal)
    assert game.moves() == ["7g7f", "3c3d"]
    assert game.end_node is not None
    assert (game.end, game.end_node.illegal, game.end_node.seconds) == (ends.BLACK_FOUL, "8h7h", 7)
    assert game.end_node.comments == ["二歩"]
    for target in ("kif", "csa", "jkf"):
        again = one(write_games([game], target), format=target)
        assert facts(again) == facts(game)
    assert one(write_games([game], "ki2")).end == ends.ILLEGAL_MOVE  # the same, without the move


@pytest.mark.parametrize(
    ("sentence", "end"),
    [
        ("まで2手で後手の勝ち", ends.RESIGNATION),
        ("まで2手で時間切れにより後手の勝ち", ends.TIME_UP),
        ("まで2手で千日手", ends.REPETITION),
        ("まで2手で持将棋", ends.IMPASSE),
        ("まで2手で中断", ends.INTERRUPTED),
        ("まで2手で詰み", ends.MATE),
        ("まで2手で先手の反則負け", ends.ILLEGAL_MOVE),
        ("まで2手で後手の反則負け", ends.WHITE_FOUL),
        ("まで2手で先手の反則勝ち", ends.WHITE_FOUL),
        ("まで2手で先手の入玉勝ち", ends.DECLARATION),
        ("まで2手で日没", None),
    ],
)
def test_the_sentence_at_the_end_names_the_end(sentence: str, end: str | None) -> None:
    game = one(f"手合割：平手\n▲７六歩 △３四歩\n{sentence}\n")
    assert (game.moves(), game.end) == (["7g7f", "3c3d"], end)
    assert end is not None or game.main_line()[-1].comments == [sentence]


def test_csa_moves_and_times_come_in_any_layout() -> None:
    expected = [("7g7f", 3), ("3c3d", None), ("8h2b+", 5)]
    for moves in (
        "+7776FU\nT3\n-3334FU\n+8822UM\nT5",
        "+7776FU,T3\n-3334FU\n+8822UM,T5",
        "+7776FU,T3,-3334FU,+8822UM,T5",
    ):
        game = one(f"V2.2\nN+A, B\nPI\n+\n{moves}\n%TORYO\n")
        assert [(node.move, node.seconds) for node in game.main_line()] == expected
        assert game.players()[0] == "A, B"


def test_csa_headers_behind_the_moves_are_read_too() -> None:
    game = one("V2.2\nN+A\nPI\n+\n+7776FU\n%TORYO\n$END_TIME:2026/11/30 20:00:00\n'summary:toryo:A win:B lose\n")
    assert game.headers == {"先手": "A", "終了日時": "2026/11/30 20:00:00"}
    assert game.remarks == ["summary:toryo:A win:B lose"]


def test_several_csa_games_in_one_file() -> None:
    data = write_games([random_game(seed, tree=False) for seed in range(3)], "csa")
    assert [facts(game, frozenset({"comments", "ends"})) for game in read_games(data)] == [
        facts(random_game(seed, tree=False), frozenset({"comments", "ends"})) for seed in range(3)
    ]
    with pytest.raises(RecordError, match="one game, not 3"):
        write_games(read_games(data), "kif")


def test_jkf_without_origins_is_read_by_what_it_says_of_the_pieces() -> None:
    moves = [
        {"comments": ["はじめ"]},
        {"move": {"to": {"x": 5, "y": 8}, "piece": "KI", "relative": "R"}},
        {"move": {"to": {"x": 3, "y": 4}, "piece": "FU"}},
    ]
    game = one(json.dumps({"header": {}, "moves": moves}))
    assert game.moves() == ["4i5h", "3c3d"] and game.root.comments == ["はじめ"]


# ---------------------------------------------------------------- encodings


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp932", "euc_jp", "utf-16"])
@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
def test_the_encoding_is_told_from_the_bytes(encoding: str, eol: str) -> None:
    text = RICH.decode().replace("\n", eol) + "\x1a" * encoding.startswith("cp")
    assert facts(one(text.encode(encoding))) == facts(one(RICH))


def test_line_ends_of_unicode_do_not_cut_a_comment() -> None:
    game = one("手合割：平手\n   1 ７六歩(77)\n*a\u2028b\x0cc\x85d\n")
    assert game.main_line()[0].comments == ["a\u2028b\x0cc\x85d"]


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("", None, "empty"),
        ("hello\nworld\n", None, "no game record"),
        ("startpos moves 7g7f\nstartpos moves 7g7e\n", 2, "7g7e"),
        ("startpos moves 7g7f resign 3c3d\n", 1, "after its end"),
        ("startpos moves 7g7f\nwhatever\n", 2, "not a game"),
        ("sfen 9/9/9/9/9/9/9/9/9/9 b - 1\n", 1, "10 ranks"),
        (KIF_HEAD + "   1 ７六歩(77)\n   2 ３五歩(33)\n   3 ２六歩(27)\n", 4, "illegal move"),
        (KIF_HEAD + "   1 ７六歩(77)\n   3 ２六歩(27)\n", 4, "move 2 is due"),
        (KIF_HEAD + "   1 ７六歩(77)\n   2 ＠＠＠\n", 4, "＠|@"),
        (KIF_HEAD + "   1 ７六歩(77)\n   2 ３四歩(3", 4, "not a move|bad move"),
        (KIF_HEAD + "   1 ７六銀(77)\n", 3, "no 銀"),
        (KIF_HEAD + "   1 同　歩(77)\n", 3, "without a move before"),
        (KIF_HEAD + "   1 ７六歩(77)\nfoo\n", 4, "foo"),
        (KIF_HEAD + "   1 ７六歩(77)\nまで5手で中断\n", 4, "5 moves"),
        (KIF_HEAD + "   1 ７六歩(77)\n変化：4手\n", 4, "variation at move 4"),
        (KIF_HEAD + "   1 投了\n   2 ７六歩(77)\n", 4, "after its end"),
        ("手合割：謎落ち\n手数----指手---------消費時間--\n", 1, "謎落ち"),
        ("|v香v桂|一\n手数----指手---------消費時間--\n", 1, "1 ranks"),
        ("後手の持駒：歩百\n手数----指手---------消費時間--\n", 1, "歩百"),
        ("手合割：平手\n▲７六歩 △７六歩\n", 2, "no legal move"),
        ("手合割：平手\n▲７六歩 ▲２六歩\n", 2, "other side"),
        ("手合割：平手\n▲５八金\n", 2, "more than one"),
        ("V2.2\nPI\n+\n+7775FU\n", 4, "illegal move"),
        ("V2.2\nPI\n+\n-3334FU\n", 4, "to move"),
        ("V2.2\nPI\n+\n+7776FU\nnonsense\n", 5, "nonsense"),
        ("V2.2\nPI\n+\n+7776FU\n%TORY\n", 5, "TORY"),
        ("V2.2\nPI\n+\n+7776FU\n%TORYO\n-3334FU\n", 6, "after its end"),
        ("V2.2\nPI\n+\n+7776XX\n", 4, "XX"),
        ("V2.2\nPI82XX\n+\n", 2, "XX"),
        ("V2.2\nP1-KY-KE-GI-KI-OU-KI-GI-KE-K\n+\n", 2, "square"),
        ("V9\nPI\n+\n", 1, "V9"),
        ('{"header":{},\n"moves":[{},{"move":}]}', 2, "not JSON"),
        ('{"header":{}}', None, "no moves"),
        ('{"moves":[{},{"move":{"from":{"x":7,"y":7},"to":{"x":7,"y":5}}}]}', None, "illegal move"),
        ('{"moves":[{},{"move":{"from":{"x":7,"y":7},"to":{"x":0,"y":5}}}]}', None, r"moves\[1\]: no square"),
        ('{"moves":[{},{"special":"NONE"}]}', None, "NONE"),
        ('{"initial":{"preset":"11"},"moves":[{}]}', None, "11"),
        ('{"moves":' * 3000, None, "not J"),
        (b"\x81\n\xff\xfe", 1, "neither UTF-8"),
    ],
)
def test_a_bad_file_is_refused_with_line_and_reason(text: str | bytes, line: int | None, word: str) -> None:
    with pytest.raises(RecordError, match=word) as error:
        read_games(text if isinstance(text, bytes) else text.encode())
    assert error.value.line == line or (line is None and text[:1] == "{")
    assert "\n" not in str(error.value)


def test_moves_of_another_format_are_not_taken_for_remarks() -> None:
    for format, text in (("kif", "手合割：平手\n▲７六歩 △３四歩\n"), ("ki2", "手合割：平手\n 1 ７六歩(77)\n")):
        assert one(text).moves()[:1] == ["7g7f"]
        with pytest.raises(RecordError, match="line 2: (a move of another|not a move)"):
            one(text, format=format)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """A file that was cut, has bits flipped, or lines lost or moved."""
    way = rng.randrange(4)
    if way == 0:
        return data[: rng.randrange(len(data))]
    if way == 1:
        spoiled = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 10))):
            spoiled[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        return bytes(spoiled)
    lines = data.split(b"\n")
    line = lines.pop(rng.randrange(len(lines)))
    if way == 2:
        lines.insert(rng.randrange(len(lines) + 1), line)
    return b"\n".join(lines)


def test_jkf_of_the_wrong_shape_is_refused() -> None:
    rng = random.Random(1)
    whole = write_games([one(RICH)], "jkf")
    board = write_games([one("sfen 4k4/9/4P4/9/9/9/9/9/4K4 b G 1 moves G*5b")], "jkf")
    for turn in range(400):
        data = json.loads(board if turn % 2 else whole)
        holder, key = rng.choice(list(places(data)))
        holder[key] = rng.choice([None, True, -1, 0, 10**30, 1.5, "", "FU", [], {}, [[]], {"x": 1}, float("nan")])
        try:
            one(json.dumps(data))
        except RecordError as error:
            assert str(error)


def places(value: object) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value, as a holder and its key or index."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key
        yield from places(inner)


@pytest.mark.parametrize("target", list(FORMATS))
def test_damaged_files_are_refused_or_read_as_legal_games(target: str) -> None:
    rng = random.Random(target)
    whole = write_games([one(RICH)], target)
    refused = 0
    for _ in range(100):
        try:
            games = read_games(damaged(whole, rng), format=target)
        except RecordError as error:
            assert str(error)
            refused += 1
            continue
        for game in games:
            other = rng.choice(list(FORMATS))
            assert one(write_games([game], other), format=other).moves() == game.moves()
    assert refused > 10


def test_variations_nested_hundreds_deep_are_no_traceback() -> None:
    game = Game(START)
    node = game.root
    cycle = ("2h7h", "8b3b", "7h2h", "3b8b")
    for ply in range(600):
        node.add(Node(("1g1f", "1c1d")[ply % 2]))
        node = node.add(Node(cycle[ply % 4]))
    for target in ("kif", "ki2"):
        again = one(write_games([game], target), format=target)
        assert facts(again, frozenset({"variations"})) == facts(game, frozenset({"variations"}))
    try:
        assert one(write_games([game], "jkf")).moves() == game.moves()
    except RecordError as error:  # how deep JSON may be depends on the version of Python
        assert "nested" in str(error) or "recursion" in str(error)


# ---------------------------------------------------------------- small boards


@pytest.mark.parametrize("variant", ["minishogi", "judkins"])
def test_small_boards_where_the_format_has_them(variant: str) -> None:
    for seed in range(5):
        game = random_game(seed, variant)
        for target in ("kif", "ki2", "usi", "sfen"):
            data = write_games([game], target)
            again = one(data, format=target, variant=variant)
            assert facts(again, FORMATS[target].keeps) == facts(game, FORMATS[target].keeps)
            if target != "usi" or b"startpos" not in data:
                assert one(data, format=target).variant == variant
        for target in ("csa", "jkf"):
            with pytest.raises(RecordError, match=f"has no {variant}"):
                write_games([game], target)


# ---------------------------------------------------------------- other readers


def test_cshogi_reads_what_we_write() -> None:
    cshogi = pytest.importorskip("cshogi")
    from cshogi import CSA, KIF

    for seed in range(10):
        game = random_game(seed, tree=False)
        moves = game.moves()
        csa = CSA.Parser.parse_str(write_games([game], "csa").decode())[0]
        kif = KIF.Parser.parse_str(write_games([game], "kif").decode())
        assert [cshogi.move_to_usi(move) for move in csa.moves] == moves
        assert [cshogi.move_to_usi(move) for move in kif.moves] == moves
        assert (csa.names, kif.names) == (["甲", "乙"], ["甲", "乙"])
        assert csa.times[: len(moves)] == [int(node.seconds or 0) for node in game.main_line()]


# ---------------------------------------------------------------- narikin convert


def test_convert_tells_formats_and_encodings_from_the_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "game.kifu"
    source.write_bytes(RICH)
    for name, encoding in (("a.kif", "cp932"), ("a.ki2", "cp932"), ("a.csa", "utf-8"), ("a.jkf", "utf-8")):
        assert main(["convert", str(source), str(tmp_path / name)]) == 0
        text = (tmp_path / name).read_bytes().decode(encoding)
        assert "朝日" in text
        assert main(["convert", str(tmp_path / name), str(tmp_path / "back.usi")]) == 0
        assert (tmp_path / "back.usi").read_text() == "position startpos moves 7g7f 3c3d 8h2b+ 3a2b B*4e 2a3c\n"
    notes = capsys.readouterr().err
    assert "csa files have no variations; left out" in notes
    assert "usi files have no clocks, comments" in notes


def test_convert_numbers_the_files_of_several_games(tmp_path: Path) -> None:
    source = tmp_path / "games.usi"
    source.write_text("startpos moves 7g7f\n" * 11)
    assert main(["convert", str(source), str(tmp_path / "out.kif")]) == 0
    assert sorted(path.name for path in tmp_path.glob("out*")) == [f"out-{number:02}.kif" for number in range(1, 12)]
    assert main(["convert", str(source), str(tmp_path / "all.csa")]) == 0
    assert len(read_games((tmp_path / "all.csa").read_bytes())) == 11
    assert main(["convert", str(source), "-", "--to", "kif"]) != 0


def test_convert_says_what_is_wrong_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "bad.kif"
    source.write_bytes((KIF_HEAD + "   1 ７六歩(77)\n   2 ３五歩(33)\n").encode("cp932"))
    rare = tmp_path / "rare.kifu"
    rare.write_text("手合割：平手\n先手：\U00020bb7田\n   1 ７六歩(77)\n", encoding="utf-8")
    target = tmp_path / "out.kif"
    for words, complaint in (
        ([str(source), str(target)], "bad.kif: line 4: illegal move"),
        ([str(source), str(tmp_path / "out.xyz")], "--to"),
        ([str(tmp_path / "none.kif"), str(target)], "none.kif"),
        ([str(rare), str(target)], "Shift_JIS has no"),
        ([str(rare), str(target), "--encoding", "latin-1"], "latin-1"),
        ([str(rare), str(tmp_path / "out.csa"), "--variant", "minishogi"], "not of minishogi"),
    ):
        assert main(["convert", *words]) != 0
        error = capsys.readouterr().err
        assert complaint in error and error.count("\n") == 1, error
        assert not target.exists()
    assert main(["convert", str(rare), str(target), "--encoding", "utf-8"]) == 0


def test_convert_works_in_a_pipe(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    class Stdin:
        class buffer:
            read = staticmethod(lambda: RICH.decode().encode("euc_jp"))

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert main(["convert", "-", "-", "--to", "csa"]) == 0
    assert one(capfdbinary.readouterr().out).players() == ("朝日 一郎", "夕日 花子")


# ---------------------------------------------------------------- games of a match


def result(**fields: object) -> GameResult:
    values: dict[str, object] = {
        "number": 7,
        "black": "A",
        "white": "B",
        "opening": "startpos moves 7g7f",
        "moves": ["3c3d", "2g2f"],
        "winner": "black",
        "reason": "resignation",
        "scores": [-30, None],
        "times": [1500, 20],
        "date": "2026-11-30T18:35:00+00:00",
    }
    return GameResult(**(values | fields))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("winner", "reason", "end"),
    [
        ("black", "resignation", ends.RESIGNATION),
        ("draw", "fourfold repetition", ends.REPETITION),
        ("draw", "move limit", ends.MAX_MOVES),
        ("black", "checkmate", ends.MATE),
        ("white", "perpetual check", ends.BLACK_FOUL),
        ("black", "perpetual check", ends.ILLEGAL_MOVE),
        ("white", "declaration", ends.DECLARATION),
        ("black", "time", ends.TIME_UP),
        ("black", "illegal move", ends.ILLEGAL_MOVE),
        ("black", "crash", ends.INTERRUPTED),
        ("white", "adjudication", ends.INTERRUPTED),  # the loser is not to move: no format has a word
    ],
)
def test_a_game_of_a_match_becomes_a_record(winner: str, reason: str, end: str) -> None:
    game = record_of(result(winner=winner, reason=reason, detail="why"))
    assert game.moves() == ["7g7f", "3c3d", "2g2f"] and game.end == end
    assert [node.seconds for node in game.main_line()] == [None, 1.5, 0.02]
    assert game.main_line()[1].comments == ["*評価値=30"]  # black's view
    assert game.end_node and f"({reason}: why)" in game.end_node.comments[0]
    for target in ("kif", "csa"):
        again = one(write_games([game], target))
        assert (again.moves(), again.end, again.players()) == (game.moves(), end, ("A", "B"))


def test_start_of_the_file_is_the_start_of_the_game() -> None:
    game = record_of(result(opening=f"sfen {START}", moves=[], scores=[], times=[], reason="crash"))
    assert (game.start, game.moves(), game.end) == (START, [], ends.INTERRUPTED)
