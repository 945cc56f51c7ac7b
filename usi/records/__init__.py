"""Game records: reading and writing KIF, KI2, CSA, JKF and USI/SFEN lines.

Why not a library: all three were tried on 56 files with known main lines and on tests/data/rich_game.kifu.

                  cshogi 1.1.0   python-shogi 1.1.1   rsshogi 1.7.0   here
main lines right  50             46                   55              55, 1 refused (it ends in another file's text)
variations        dropped        mixed into the line  not written     kept
comments, clocks  main line      dropped              some dropped    kept
a damaged row     skipped        skipped              ends the game   refused with its line
no record at all  an empty game  an empty game        an empty game   refused
encodings         told to it     some                 told to it      seen from the bytes
"""

from __future__ import annotations

from usi.records.files import FORMATS, encoding_of, format_of, read_games, write_games
from usi.records.game import Game, Node, RecordError

__all__ = ["FORMATS", "Game", "Node", "RecordError", "encoding_of", "format_of", "read_games", "write_games"]
