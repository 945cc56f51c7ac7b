"""Game records: reading and writing KIF, KI2, CSA, JKF and USI/SFEN lines."""

from __future__ import annotations

from usi.records.files import FORMATS, format_of, read_games, write_games
from usi.records.game import Game, Node, RecordError

__all__ = ["FORMATS", "Game", "Node", "RecordError", "format_of", "read_games", "write_games"]
