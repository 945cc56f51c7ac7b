"""Positions in 32 bytes, as other shogi programs keep training data: PackedSfenValue (YaneuraOu) and hcpe (Apery).

Both write one bit for the side to move, seven bits a king, then a variable-length code per square and one per piece in
hand; the codes differ in a few places. Pieces missing from the set have codes of their own, so that every position
fills the 256 bits. Bits are filled from the lowest of each byte up. Standard shogi only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.native.jit import kernel
from engine.rules.codes import BISHOP, GOLD, KING, KNIGHT, LANCE, PAWN, ROOK, SILVER, SQUARES
from engine.rules.layout import COLOUR_SHIFT, DROP_BIT, FROM_SHIFT, PROMOTE_BIT, PROMOTED

PACKED_SFEN_VALUE = np.dtype(
    [
        ("sfen", "u1", 32),
        ("score", "<i2"),  # side to move's view
        ("move", "<u2"),  # to | from << 7 | drop << 14 (from = piece type) | promote << 15
        ("gamePly", "<u2"),
        ("game_result", "i1"),  # 1 the side to move won, -1 it lost, 0 drawn
        ("padding", "u1"),
    ]
)
HCPE = np.dtype(
    [
        ("hcp", "u1", 32),
        ("eval", "<i2"),  # side to move's view
        ("bestMove16", "<i2"),  # to | from << 7 (drop: 80 + piece type) | promote << 14
        ("gameResult", "i1"),  # 0 drawn, 1 black won, 2 white won
        ("dummy", "u1"),
    ]
)

HAND_ORDER = (PAWN, LANCE, KNIGHT, SILVER, GOLD, BISHOP, ROOK)
SET = {PAWN: 18, LANCE: 4, KNIGHT: 4, SILVER: 4, GOLD: 4, BISHOP: 2, ROOK: 2}
BOX = 2  # "owner" of a missing piece
NO_PIECE = 0


@dataclass
class Positions:
    """Bare positions: boards int8[n, 81] of piece codes, hands int8[n, 2, 8] by colour and type, sides int8[n]."""

    boards: np.ndarray
    hands: np.ndarray
    sides: np.ndarray

    def __len__(self) -> int:
        return len(self.sides)

    @classmethod
    def empty(cls, count: int) -> Positions:
        return cls(
            np.zeros((count, SQUARES), dtype=np.int8),
            np.zeros((count, 2, 8), dtype=np.int8),
            np.zeros(count, dtype=np.int8),
        )


class Code:
    """One program's code. Bit strings start with the bit that is written first."""

    def __init__(
        self, prefixes: dict[int, str], hands: dict[int, str], box: dict[int, str], promoted_last: bool
    ) -> None:
        self.board = {NO_PIECE: "0"}
        for kind, prefix in prefixes.items():
            for colour in (0, 1):
                piece = kind | colour << COLOUR_SHIFT
                if kind == GOLD:
                    self.board[piece] = f"{prefix}{colour}"
                    continue
                for promoted in (0, 1):
                    flags = f"{colour}{promoted}" if promoted_last else f"{promoted}{colour}"
                    self.board[piece | promoted * PROMOTED] = prefix + flags
        self.hand = {(colour, kind): f"{hands[kind]}{colour}" for colour in (0, 1) for kind in hands}
        self.hand |= {(BOX, kind): code for kind, code in box.items()}
        hand_symbols = {owner << COLOUR_SHIFT | kind: code for (owner, kind), code in self.hand.items()}
        self.board_codes, self.board_symbols = _tables(self.board)
        self.hand_codes, self.hand_symbols = _tables(hand_symbols)


def _tables(symbols: dict[int, str]) -> tuple[np.ndarray, np.ndarray]:
    """int64[48, 2]: bits and length by symbol; int64[256, 2]: symbol and length by the next eight bits, 0: none."""
    codes = np.zeros((48, 2), dtype=np.int64)
    lookup = np.zeros((256, 2), dtype=np.int64)
    for symbol, text in symbols.items():
        bits = int(text[::-1], 2)
        codes[symbol] = bits, len(text)
        for rest in range(1 << (8 - len(text))):
            lookup[bits | rest << len(text)] = symbol, len(text)
    return codes, lookup


_PREFIXES = {PAWN: "10", LANCE: "1100", GOLD: "11110", BISHOP: "111110", ROOK: "111111"}
_SFEN_PREFIXES = _PREFIXES | {KNIGHT: "1101", SILVER: "1110"}
_SFEN_HANDS = {kind: prefix[1:] + ("" if kind == GOLD else "0") for kind, prefix in _SFEN_PREFIXES.items()}
_SFEN_BOX = {kind: prefix[1:] + "10" for kind, prefix in _SFEN_PREFIXES.items()} | {GOLD: "11011"}
SFEN_CODE = Code(_SFEN_PREFIXES, _SFEN_HANDS, _SFEN_BOX, promoted_last=False)

_HCP_PREFIXES = _PREFIXES | {KNIGHT: "1110", SILVER: "1101"}
_HCP_HANDS = {kind: prefix[1:] + "0" for kind, prefix in _HCP_PREFIXES.items() if kind in (PAWN, LANCE, KNIGHT, SILVER)}
_HCP_HANDS |= {GOLD: "1110", BISHOP: "111110", ROOK: "111111"}
_HCP_BOX = {PAWN: "010", LANCE: "10010", KNIGHT: "11010", SILVER: "10110", GOLD: "10111"}
HCP_CODE = Code(_HCP_PREFIXES, _HCP_HANDS, _HCP_BOX | {BISHOP: "1111000", ROOK: "1111010"}, promoted_last=True)


@kernel()
def _read_bits(row, at, count):
    """`count` (up to 8) bits of a 32-byte row from bit `at`; zeros beyond the end."""
    word = int(row[at >> 3]) if at < 256 else 0
    if at + 8 < 256:
        word |= int(row[(at >> 3) + 1]) << 8
    return (word >> (at & 7)) & ((1 << count) - 1)


@kernel()
def _write_bits(row, at, bits, count):
    for i in range(count):
        row[(at + i) >> 3] |= ((bits >> i) & 1) << ((at + i) & 7)
    return at + count


@kernel()
def _unpack(rows, board_symbols, hand_symbols, boards, hands, sides):
    """Decode; returns the index of the first row that is no position, or the number of rows."""
    for n in range(len(rows)):
        row = rows[n]
        sides[n] = _read_bits(row, 0, 1)
        kings = (_read_bits(row, 1, 7), _read_bits(row, 8, 7))
        at = 15
        for colour in range(2):
            if kings[colour] < SQUARES:
                boards[n, kings[colour]] = KING | colour << COLOUR_SHIFT
        for square in range(SQUARES):
            if square != kings[0] and square != kings[1]:
                symbol = board_symbols[_read_bits(row, at, 8)]
                if symbol[1] == 0 or at + symbol[1] > 256:
                    return n
                boards[n, square] = symbol[0]
                at += symbol[1]
        while at < 256:
            symbol = hand_symbols[_read_bits(row, at, 8)]
            if symbol[1] == 0 or at + symbol[1] > 256:
                return n
            at += symbol[1]
            owner, kind = symbol[0] >> COLOUR_SHIFT, symbol[0] & 15
            if owner < BOX:
                hands[n, owner, kind] += 1
    return len(rows)


@kernel()
def _pack(boards, hands, sides, board_codes, hand_codes, order, box, rows):
    """Encode; returns the index of the first position that does not fit, or the number of rows."""
    missing = np.zeros(16, dtype=np.int64)
    for n in range(len(rows)):
        row = rows[n]
        missing[:] = box
        kings = np.full(2, 127)
        length = 15
        for square in range(SQUARES):
            piece = int(boards[n, square])
            kind = piece & 15
            if kind == KING:
                kings[piece >> COLOUR_SHIFT] = square
                continue
            if kind:
                missing[kind if kind == GOLD else kind & 7] -= 1
            length += board_codes[piece, 1]
        if length > 256:
            return n
        at = _write_bits(row, 0, int(sides[n]), 1)
        at = _write_bits(row, at, kings[0], 7)
        at = _write_bits(row, at, kings[1], 7)
        for square in range(SQUARES):
            piece = int(boards[n, square])
            if piece & 15 != KING:
                at = _write_bits(row, at, board_codes[piece, 0], board_codes[piece, 1])
        for owner in range(BOX + 1):
            for kind in order:
                count = missing[kind] if owner == BOX else int(hands[n, owner, kind])
                code = hand_codes[owner << COLOUR_SHIFT | kind]
                if count < 0 or at + count * code[1] > 256:
                    return n
                for _ in range(count):
                    at = _write_bits(row, at, code[0], code[1])
                missing[kind] -= count
    return len(rows)


def unpack(rows: np.ndarray, code: Code) -> Positions:
    """Decode uint8[n, 32]. Raises ValueError naming the first record that is not a position."""
    found = Positions.empty(len(rows))
    rows = np.ascontiguousarray(rows)
    good = _unpack(rows, code.board_symbols, code.hand_symbols, found.boards, found.hands, found.sides)
    if good < len(rows):
        raise ValueError(f"record {good} holds no shogi position")
    return found


def pack(positions: Positions, code: Code) -> np.ndarray:
    """Encode to uint8[n, 32]. Raises ValueError naming the first position with more pieces than a shogi set."""
    rows = np.zeros((len(positions), 32), dtype=np.uint8)
    box = np.zeros(16, dtype=np.int64)
    for kind, count in SET.items():
        box[kind] = count
    good = _pack(
        positions.boards,
        positions.hands,
        positions.sides,
        code.board_codes,
        code.hand_codes,
        np.array(HAND_ORDER),
        box,
        rows,
    )
    if good < len(rows):
        raise ValueError(f"position {good} has more pieces than a shogi set")
    return rows


def moves_from_yaneuraou(moves: np.ndarray) -> np.ndarray:
    """PackedSfenValue moves (uint16) as the engine's int32."""
    moves = moves.astype(np.int32)
    return (moves & 0x3FFF) | (moves >> 15 & 1) * PROMOTE_BIT | (moves >> 14 & 1) * DROP_BIT


def moves_to_yaneuraou(moves: np.ndarray) -> np.ndarray:
    """The engine's moves as PackedSfenValue keeps them."""
    drop, promote = (moves & DROP_BIT) != 0, (moves & PROMOTE_BIT) != 0
    return ((moves & 0x3FFF) | drop * (1 << 14) | promote * (1 << 15)).astype(np.uint16)


def moves_from_apery(moves: np.ndarray) -> np.ndarray:
    """hcpe moves (int16) as the engine's int32."""
    moves = moves.astype(np.int32) & 0xFFFF
    drop = (moves >> FROM_SHIFT & 127) >= SQUARES
    return moves - drop * ((SQUARES - 1) << FROM_SHIFT) + drop * DROP_BIT


def moves_to_apery(moves: np.ndarray) -> np.ndarray:
    """The engine's moves as hcpe keeps them."""
    drop = (moves & DROP_BIT) != 0
    return ((moves & ~DROP_BIT) + drop * ((SQUARES - 1) << FROM_SHIFT)).astype(np.int16)
