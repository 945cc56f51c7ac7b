"""How games end. The words are those of the CSA standard, which JKF shares; KIF and KI2 say them in Japanese.

CSA and JKF name the side whose illegal act ended the game ("+ILLEGAL_ACTION": black's); KIF says from the view of the
side to move that it wins (反則勝ち) or loses (反則負け) by it.
"""

from __future__ import annotations

import re

from usi.records.game import BLACK, WHITE

RESIGNATION, TIME_UP, ILLEGAL_MOVE, MATE = "TORYO", "TIME_UP", "ILLEGAL_MOVE", "TSUMI"
DECLARATION, REPETITION, IMPASSE, DRAW = "KACHI", "SENNICHITE", "JISHOGI", "HIKIWAKE"
INTERRUPTED, MAX_MOVES, NO_MATE, TAKEN_BACK, ERROR = "CHUDAN", "MAX_MOVES", "FUZUMI", "MATTA", "ERROR"
BLACK_FOUL, WHITE_FOUL = "+ILLEGAL_ACTION", "-ILLEGAL_ACTION"
FOULS = (BLACK_FOUL, WHITE_FOUL)  # by side
ILLEGAL = (ILLEGAL_MOVE, *FOULS)

WORDS = {
    RESIGNATION: "投了",
    TIME_UP: "切れ負け",
    ILLEGAL_MOVE: "反則負け",
    MATE: "詰み",
    DECLARATION: "入玉勝ち",
    REPETITION: "千日手",
    IMPASSE: "持将棋",
    DRAW: "引き分け",
    INTERRUPTED: "中断",
    MAX_MOVES: "最大手数",
    NO_MATE: "不詰",
    TAKEN_BACK: "待った",
    ERROR: "エラー",
}
FOUL_WIN = "反則勝ち"
_ALIASES = {
    "詰": MATE,
    "不詰み": NO_MATE,
    "時間切れ": TIME_UP,
    "Time-up": TIME_UP,
    "宣言勝ち": DECLARATION,
    "入玉宣言勝ち": DECLARATION,
    "引分": DRAW,
    "引分け": DRAW,
}
_MEANINGS = {**{text: word for word, text in WORDS.items()}, **_ALIASES}
FREE = ("封じ手", "不戦敗", "不戦勝")  # known to GUIs, but CSA has no words for them: they stand for themselves


KNOWN = frozenset((*WORDS, *FOULS, *FREE))


def winner(end: str | None, side: int) -> int | None:
    """Who won by an end, with `side` to move; None for a draw or no result."""
    if end in (RESIGNATION, TIME_UP, ILLEGAL_MOVE, MATE):
        return 1 - side
    if end == DECLARATION:
        return side
    if end in FOULS:
        return WHITE if end == BLACK_FOUL else BLACK
    return None


def to_kif(end: str, side: int) -> str:
    """The Japanese word of an end, with `side` to move."""
    if end in FOULS:
        return FOUL_WIN if winner(end, side) == side else WORDS[ILLEGAL_MOVE]
    return WORDS.get(end, end)


def from_kif(text: str, side: int) -> str | None:
    """The end that a Japanese word means, None if it is no end."""
    if text == FOUL_WIN:
        return FOULS[1 - side]
    return _MEANINGS.get(text, text if text in FREE else None)


# the sentence at the end: まで85手で先手の勝ち

_SENTENCE = re.compile(r"まで、?\s*(\d+)手で、?\s*(.*?)。?")
_BY_SIDE = {"勝ち": RESIGNATION, "勝": RESIGNATION, "入玉勝ち": DECLARATION, "宣言勝ち": DECLARATION}
_OPPONENT = re.compile(r"(.*により)?([先後上下]手)の(反則負け|反則勝ち|.*勝ち?|.*負け)")


def sentence(end: str, plies: int, side: int, names: tuple[str, str]) -> str:
    """What KIF and KI2 write below a line of `plies` moves; names are those of the sides, such as 先手 and 後手."""
    won = winner(end, side)
    head = f"まで{plies}手で"
    if end == RESIGNATION and won is not None:
        return f"{head}{names[won]}の勝ち"
    if end == TIME_UP and won is not None:
        return f"{head}時間切れにより{names[won]}の勝ち"
    if end in ILLEGAL and won is not None:
        return f"{head}{names[side]}の{FOUL_WIN if won == side else WORDS[ILLEGAL_MOVE]}"
    if end == DECLARATION:
        return f"{head}{names[side]}の入玉勝ち"
    return head + WORDS.get(end, end)


def parse_sentence(text: str, side: int) -> tuple[int, str | None] | None:
    """Number of moves and the end that such a sentence names (None: no end we know); None if it is no such sentence."""
    match = _SENTENCE.fullmatch(text)
    if not match:
        return None
    plies, rest = int(match[1]), match[2].strip()
    named = _OPPONENT.fullmatch(rest)
    if named:
        return plies, _end_for(named[1] or "", BLACK if named[2] in ("先手", "下手") else WHITE, named[3], side)
    return plies, from_kif(rest, side)


def _end_for(cause: str, who: int, verdict: str, side: int) -> str | None:
    """The end by which side `who` fared as the verdict says. A plain win without a cause is a resignation."""
    won = who if "勝" in verdict else 1 - who
    if "反則" in verdict or "反則" in cause:
        return ILLEGAL_MOVE if won != side else FOULS[1 - side]
    if "時間" in cause or "切れ" in verdict:
        return TIME_UP
    if "入玉" in cause + verdict or "宣言" in cause + verdict:
        return DECLARATION
    return RESIGNATION if won != side else None
