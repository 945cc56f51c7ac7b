"""Game files: the text format, siblings, and the archive that self-play writes."""

from __future__ import annotations

import bz2
import lzma
from pathlib import Path

import numpy as np
import pytest
from sample_games import random_games

from eval.learn import archive
from eval.learn.records import NO_SCORE, Games, format_games, parse_games, parse_siblings, read_text

TEXT = b"b startpos 7g7f,- 3c3d,-15 8h2b+,120\nd startpos\nw startpos P*5e,-28500 5e5d+,29999\n"


def same(one: Games, two: Games) -> bool:
    return (
        one.variant == two.variant
        and all(
            np.array_equal(getattr(one, name), getattr(two, name)) for name in ("results", "offsets", "moves", "scores")
        )
        and (one.starts or None) == (two.starts or None)
    )


def test_text_is_read_and_written_back_unchanged() -> None:
    games = parse_games(TEXT)
    assert games.results.tolist() == [1, 0, -1]
    assert games.offsets.tolist() == [0, 3, 3, 5]
    assert games.scores.tolist() == [NO_SCORE, -15, 120, -28500, 29999]
    assert format_games(games).encode() == TEXT


def test_last_line_may_lack_its_end() -> None:
    assert same(parse_games(TEXT), parse_games(TEXT[:-1]))


@pytest.mark.parametrize(
    "text", [b"b startpos 7g7f,1\nb startpos 7g7f 3c3d\n", b"w startpos P*5e,3\nb startpos 7g7f,x1\n"]
)
def test_malformed_line_is_named(text: bytes) -> None:
    with pytest.raises(ValueError, match="line 2"):
        parse_games(text)


def test_siblings_follow_their_games() -> None:
    siblings = parse_siblings(b"7g7f,-3 2g2f,4;;P*5e,0;\n\n8h2b+,-7;\n")
    assert siblings.games.tolist() == [0, 3, 3, 4]
    assert siblings.groups.tolist() == [0, 2, 2, 3, 4]
    assert siblings.scores.tolist() == [-3, 4, 0, -7]


def test_malformed_siblings_are_named() -> None:
    with pytest.raises(ValueError, match="line 2"):
        parse_siblings(b"7g7f,-3;\n7g7f 2g2f,1;\n")


def test_archive_keeps_games_and_settings(tmp_path: Path) -> None:
    games = random_games("shogi", 30)
    games.scores[::7] = NO_SCORE
    games.scores[3:5] = 32000, -32767
    parts = [parse_games(TEXT), games]
    path = tmp_path / "games.narikin"
    for part in parts:
        archive.append_games(path, part, {"nodes": 5000})
    assert archive.read_settings(path) == {"variant": "shogi", "nodes": 5000}
    assert archive.count_games(path) == 33
    assert same(archive.read_archive(path), archive.join_games(parts, "shogi"))


def test_archive_keeps_start_positions(tmp_path: Path) -> None:
    games = parse_games(TEXT)
    games.starts = ["", "4k4/9/9/9/9/9/9/9/4K4 b R 1", ""]
    archive.append_games(tmp_path / "a", games)
    archive.append_games(tmp_path / "a", parse_games(TEXT))
    assert archive.read_archive(tmp_path / "a").starts == [*games.starts, "", "", ""]


@pytest.mark.parametrize("lost", [1, 9, 40])
def test_interrupted_archive_is_read_up_to_the_break_and_continued(tmp_path: Path, lost: int) -> None:
    path = tmp_path / "games"
    first, second = parse_games(TEXT), random_games("shogi", 3)
    archive.append_games(path, first)
    archive.append_games(path, second)
    path.write_bytes(path.read_bytes()[:-lost])
    assert same(archive.read_archive(path), first)
    archive.append_games(path, second)
    assert same(archive.read_archive(path), archive.join_games([first, second], "shogi"))


def test_damaged_chunk_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "games"
    archive.append_games(path, parse_games(TEXT))
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    assert len(archive.read_archive(path)) == 0


@pytest.mark.parametrize("place", [0, 2, 5, 30, -5])  # in the head (size, checksum), in the data
def test_damaged_chunk_costs_no_other_games(tmp_path: Path, place: int) -> None:
    path = tmp_path / "games"
    lots = [parse_games(TEXT), random_games("shogi", 3), random_games("shogi", 2)]
    ends = []
    for games in lots:
        archive.append_games(path, games)
        ends.append(path.stat().st_size)
    data = bytearray(path.read_bytes())
    data[ends[0 if place >= 0 else 1] + place] ^= 1
    path.write_bytes(data)
    left = [lots[0], lots[2]]
    assert archive.count_damaged(path) == 1
    assert same(archive.read_archive(path), archive.join_games(left, "shogi"))
    writer = archive.ArchiveWriter(path, {"variant": "shogi"})
    assert (writer.chunks, writer.games, writer.damaged) == (3, 5, 1)  # the next block is the fourth
    writer.append(archive.pack_games(lots[1]))
    assert same(archive.read_archive(path), archive.join_games([*left, lots[1]], "shogi"))


def test_archive_refuses_other_files_and_variants(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(TEXT)
    with pytest.raises(archive.ArchiveError, match="text"):
        archive.read_archive(tmp_path / "text")
    archive.append_games(tmp_path / "games", parse_games(TEXT))
    with pytest.raises(archive.ArchiveError, match="minishogi"):
        archive.append_games(tmp_path / "games", random_games("minishogi", 2))


@pytest.mark.peer
def test_archive_needs_less_than_four_bytes_a_position() -> None:
    path = Path(__file__).parents[2] / "shared" / "data" / "games-depth3.txt.xz"
    if not path.exists():
        pytest.skip("needs ../shared/data")
    import lzma

    with lzma.open(path) as file:
        games = parse_games(b"".join(file.readline() for _ in range(1000)))
    assert len(archive.pack_games(games)) < 4 * np.count_nonzero(games.scores != NO_SCORE)


@pytest.mark.parametrize("suffix, packer", [(".txt", bytes), (".txt.xz", lzma.compress), (".txt.bz2", bz2.compress)])
def test_packed_text_is_unpacked_by_its_name(tmp_path, suffix, packer):
    text = b"b startpos 7g7f,12 3c3d,-5\n"
    path = tmp_path / f"games{suffix}"
    path.write_bytes(packer(text) + (packer(text) if suffix != ".txt" else b""))
    assert read_text(path) == text * (2 if suffix != ".txt" else 1)
