"""Where a game to analyse comes from: a file, standard input, the clipboard, or moves on the command line."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from usi.analysis.game import PlayedGame
    from usi.records import Game


def find_record(arguments: argparse.Namespace) -> tuple[bytes, str] | None:
    """The bytes of the record that the command line means and their name; None if it means a position.

    Raises ValueError or OSError when it cannot be had.
    """
    words: list[str] = arguments.position
    if arguments.clipboard:
        if words:
            raise ValueError(f"both --clipboard and {words[0]!r} were given")
        return clipboard_text().encode(), "clipboard"
    if words == ["-"]:
        return sys.stdin.buffer.read(), "standard input"
    if len(words) == 1 and words[0] != "startpos" and _is_file_name(words[0]):
        with open(words[0], "rb") as file:
            return file.read(), os.path.basename(words[0])
    if arguments.game and words:
        from usi.commands._arguments import read_position
        from usi.protocol import format_command

        position = read_position(words, arguments.variant or "shogi")
        return format_command(position).encode(), "command line"
    return None


def _is_file_name(word: str) -> bool:
    """True for a file, and for what can only be the name of one."""
    from usi.records import format_of

    return os.path.isfile(word) or format_of(word) is not None


def clipboard_text() -> str:
    """Text on the clipboard. Raises ValueError when there is none, or no way to get at it."""
    try:
        import pyperclip
    except ImportError:
        raise ValueError('--clipboard needs the package pyperclip: pip install ".[clipboard]"') from None
    try:
        text: str = pyperclip.paste()
    except RuntimeError as error:  # on Linux it needs a program such as xclip or wl-clipboard
        raise ValueError(f"the clipboard cannot be read: {str(error).strip().splitlines()[0]}") from error
    if not text.strip():
        raise ValueError("there is no text on the clipboard")
    return text


def read_game(data: bytes, name: str, number: int, variant: str | None) -> tuple[PlayedGame, int]:
    """The chosen game, and how many the data hold. Raises ValueError saying what is wrong with them."""
    from usi.records import RecordError, read_games

    try:
        games = read_games(data, name, variant=variant)
    except RecordError as error:
        raise ValueError(f"{name}: {error}") from error
    if number > len(games):
        raise ValueError(f"{name}: --number {number}, but there are {len(games)} games")
    game = played_game(games[number - 1], name)
    if not game.moves:
        raise ValueError(f"{name}: the game has no moves")
    return game, len(games)


def played_game(record: Game, name: str) -> PlayedGame:
    """The main line of a record."""
    from usi.analysis.game import PlayedGame

    comments = {0: "\n".join(record.root.comments)}
    comments |= {ply: "\n".join(node.comments) for ply, node in enumerate(record.main_line(), 1)}
    return PlayedGame(
        record.variant,
        record.start,
        record.moves(),
        record.players(),
        dict(record.headers),
        {ply: text for ply, text in comments.items() if text},
        ending_text(record),
        name,
        record,
    )


ENDINGS = {
    "TORYO": "resignation",
    "TIME_UP": "time up",
    "ILLEGAL_MOVE": "illegal move",
    "+ILLEGAL_ACTION": "illegal act by black",
    "-ILLEGAL_ACTION": "illegal act by white",
    "TSUMI": "mate",
    "KACHI": "declaration",
    "SENNICHITE": "repetition",
    "JISHOGI": "impasse",
    "HIKIWAKE": "draw",
    "CHUDAN": "interrupted",
    "MAX_MOVES": "move limit",
    "FUZUMI": "no mate",
}


def ending_text(record: Game) -> str:
    """How the record says the game ended, in English where we have a word for it."""
    return ENDINGS.get(record.end or "", record.end or "")
