"""The options of the engine as data, and the values a GUI has given them.

Names compare without case; spaces in a name count as underscores. A value that makes no sense leaves the old one.
Two names may stand for one setting (USI_Variant and UCI_Variant). A GUI sends every value it has saved, changed or
not, so a name moves the setting only when the name's own value changes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from usi.protocol import EMPTY, OptionLine, parse_integer

VARIANT_NAMES = ("shogi", "judkins", "minishogi")
IMPASSE_RULE_NAMES = ("NoEnteringKing", "CSARule24", "CSARule24H", "CSARule27", "CSARule27H", "TryRule")
NEVER_RESIGN = 99999
UNLIMITED_NODES = 10**15
NO_BOOK, SHIPPED_BOOK = "no_book", "shipped"
"""Values of BookFile that are no file."""

Value = int | bool | str


@dataclass(frozen=True)
class Option(OptionLine):
    """One option: its line, the engine setting it stands for ("" = the session's own), the reason for its default."""

    setting: str = ""
    why: str = ""


def spin(name: str, default: int, minimum: int, maximum: int, setting: str, why: str) -> Option:
    """An integer option."""
    return Option(name, "spin", str(default), minimum, maximum, setting=setting, why=why)


def check(name: str, default: bool, setting: str, why: str) -> Option:
    """A yes/no option."""
    return Option(name, "check", "true" if default else "false", setting=setting, why=why)


def combo(name: str, values: tuple[str, ...], default: str, setting: str, why: str) -> Option:
    """A choice of one word out of several."""
    return Option(name, "combo", default, values=values, setting=setting, why=why)


OPTIONS = (
    spin("USI_Hash", 256, 1, 1 << 20, "hash_mb", "MB of the search's table; fits any PC of today beside a browser"),
    check(
        "USI_Ponder", False, "", "the GUI's switch; off, because thinking on the opponent's time doubles the power used"
    ),
    spin("Threads", 1, 1, 512, "threads", "search threads; 1 gives the same nodes and moves every time"),
    spin(
        "MultiPV", 1, 1, 600, "multipv", "lines to show; no position has more than 593 moves; more lines cost strength"
    ),
    combo("USI_Variant", VARIANT_NAMES, "shogi", "variant", "the game that is played"),
    combo("UCI_Variant", VARIANT_NAMES, "shogi", "variant", "the same under the name that other clients use"),
    combo(
        "EnteringKingRule",
        IMPASSE_RULE_NAMES,
        "CSARule27",
        "impasse_rule",
        "declaration win (nyugyoku); 27 points is the rule of computer tournaments and of most GUIs",
    ),
    spin("MaxMovesToDraw", 0, 0, 100000, "max_moves", "move number at which a game is drawn; 0 = no such rule"),
    spin("DrawValueBlack", 0, -30000, 30000, "draw_value_black", "centipawns of a draw for black; 0 = neither side's"),
    spin("DrawValueWhite", 0, -30000, 30000, "draw_value_white", "centipawns of a draw for white; 0 = neither side's"),
    spin(
        "ResignValue",
        NEVER_RESIGN,
        0,
        NEVER_RESIGN,
        "",
        "resign when this many centipawns behind; the default never does",
    ),
    spin("NetworkDelay", 120, 0, 10000, "", "ms kept back on every move for the way to the GUI or server"),
    spin("NetworkDelay2", 1120, 0, 10000, "", "ms kept back when the time runs out: a server may be a second late"),
    spin(
        "MinimumThinkingTime",
        2000,
        0,
        100000,
        "",
        "ms used for a move if the clock allows; servers count whole seconds",
    ),
    spin("SlowMover", 100, 1, 1000, "", "percent of the planned time; 100 = as planned, more spends it earlier"),
    check("RoundUpToFullSecond", True, "", "think to the end of a begun second, which servers count in full"),
    spin("DepthLimit", 0, 0, 255, "", "plies at which every search ends; 0 = none"),
    spin("NodesLimit", 0, 0, UNLIMITED_NODES, "", "nodes at which every search ends; 0 = none"),
    spin(
        "PvInterval", 300, 0, 100000, "", "ms between reports in play; GUIs draw twice a second. Analysis reports all"
    ),
    spin(
        "MateShare",
        5,
        0,
        100,
        "mate_share",
        "percent of the nodes that go into looking for mates by checks alone; 0 = none",
    ),
    check("GenerateAllLegalMoves", False, "all_moves", "also think about declined promotions that never help"),
    check("ConsiderationMode", False, "", "for study: every line is reported, complete, and nobody resigns"),
    Option(
        "EvalDir", "string", "", setting="eval_file", why="folder that holds nn.bin; empty = the network in the package"
    ),
    Option("EvalFile", "filename", "", setting="eval_file", why="a network file; goes before EvalDir"),
    spin("FV_SCALE", 0, 0, 128, "fv_scale", "divisor of the network's output; 0 = what suits the kind of network"),
    check("USI_OwnBook", True, "", "play from the book that BookFile names, if it names one"),
    Option("BookFile", "filename", NO_BOOK, why="no_book, shipped (the one in the package) or a YaneuraOu .db file"),
    Option("BookDir", "string", "", why="folder of a BookFile that is given without one"),
    spin(
        "BookMoves", 16, 0, 10000, "", "moves of a game for which the book is asked; later positions are rarely in one"
    ),
    spin("BookIgnoreRate", 0, 0, 100, "", "percent of moves that are thought about in spite of the book"),
    spin("BookEvalDiff", 30, 0, 99999, "", "centipawns that a move may be behind the book's best; 0 = only the best"),
    spin("BookEvalBlackLimit", 0, -99999, 99999, "", "score that black wants of a book move at least"),
    spin("BookEvalWhiteLimit", -140, -99999, 99999, "", "the same for white, who begins a little behind"),
    spin("BookDepthLimit", 0, 0, 99999, "", "depth that the book's best move needs; 0 = any, as many books name none"),
    check("NarrowBook", False, "", "leave out moves that were played in less than a tenth of the games"),
    check("ConsiderBookMoveCount", False, "", "play moves as often as the book's games did, not all alike"),
    spin("BookPvMoves", 8, 1, 246, "", "moves of the book's line to show"),
    check("BookOnTheFly", False, "", "leave a big sorted book on disk and search it there"),
    check("IgnoreBookPly", True, "", "a position is the same at whatever move it is reached"),
    check("FlippedBook", True, "", "look for the position with colours swapped too"),
    Option("Clear_Hash", "button", why="forget what earlier searches found"),
)

# Names that GUIs and match clients send without being told of them. They are not declared: a GUI that knows two names
# of one setting sends both, and its default for the second would undo the user's choice for the first.
ALIASES = {
    "usi_multipv": "multipv",
    "hash": "usi_hash",
    "numberofthreads": "threads",
    "ponder": "usi_ponder",
    "variant": "usi_variant",
}


SEARCH_GROUPS = ("parameter", "switch")


def search_options() -> tuple[Option, ...]:
    """Every number of the search (parameter.NAME) and every part that can be left out (switch.NAME) as options.

    For tuners and measurements through any match client. They are taken at any time but declared only to those who
    ask for them, as a GUI would show a hundred fields that no player needs. Imports numpy, so not before `usiok`.
    """
    from engine.search.parameters import PARAMETER_TABLE, SWITCH_NAMES

    numbers = (
        spin(f"parameter.{p.name}", p.value, p.low, p.high, f"parameter.{p.name}", p.meaning) for p in PARAMETER_TABLE
    )
    parts = (check(f"switch.{name}", True, f"switch.{name}", "a part of the search") for name in SWITCH_NAMES)
    return (*numbers, *parts)


def canonical(name: str) -> str:
    """The form of a name that is looked up."""
    key = "_".join(name.lower().split())
    return ALIASES.get(key, key)


class OptionError(ValueError):
    """An option that does not exist, or a value that it cannot take; the text is for the user."""


class OptionValues:
    """The current value of every option."""

    def __init__(self, options: tuple[Option, ...] = OPTIONS) -> None:
        self._options: dict[str, Option] = {}
        self._values: dict[str, Value] = {}
        self._by_setting: dict[str, str] = {}
        self._add(options)

    def _add(self, options: tuple[Option, ...]) -> None:
        for option in options:
            key = canonical(option.name)
            self._options[key] = option
            self._values[key] = parse_value(option, option.default or "")
            if option.setting:
                self._by_setting.setdefault(option.setting, key)

    def __getitem__(self, name: str) -> Value:
        return self._values[canonical(name)]

    def number(self, name: str) -> int:
        """Value of a spin or check option."""
        return int(self[name])

    def setting(self, setting: str) -> Value:
        """Value of an engine setting: that of the option which changed it last."""
        if setting == "eval_file":
            return eval_file(str(self["EvalDir"]), str(self["EvalFile"]))
        return self._values[self._by_setting[setting]]

    @property
    def settings(self) -> list[str]:
        """All engine settings, in the order of the table."""
        return list(dict.fromkeys(option.setting for option in self._options.values() if option.setting))

    def set(self, name: str, text: str | None) -> Option:
        """Set an option from the words of `setoption`. Raises OptionError and keeps the old value."""
        key = canonical(name)
        if key not in self._options and key.partition(".")[0] in SEARCH_GROUPS:
            self._add(tuple(option for option in search_options() if canonical(option.name) == key))
        option = self._options.get(key)
        if option is None:
            raise OptionError(f"no such option: {name}")
        if option.type == "button":
            return option
        value = parse_value(option, text or "")
        if value != self._values[key] and option.setting:
            self._by_setting[option.setting] = key
        self._values[key] = value
        return option


def parse_value(option: Option, text: str) -> Value:
    """The value that a text means for an option. Raises OptionError."""
    if option.type == "spin":
        return _parse_spin(option, text)
    if option.type == "check":
        if text.lower() not in ("true", "false"):
            raise OptionError(f"{option.name}: {text!r} is neither true nor false")
        return text.lower() == "true"
    if option.type == "combo":
        for value in option.values:
            if value.lower() == text.lower():
                return value
        raise OptionError(f"{option.name}: {text!r} is none of {', '.join(option.values)}")
    return "" if text == EMPTY else text


def _parse_spin(option: Option, text: str) -> int:
    value = parse_integer(text)
    if value is None:
        raise OptionError(f"{option.name}: {text!r} is no number")
    minimum, maximum = option.minimum or 0, option.maximum or 0
    if not minimum <= value <= maximum:
        raise OptionError(f"{option.name}: {value} is not within {minimum} to {maximum}")
    return value


def eval_file(folder: str, file: str) -> str:
    """The network file to load, "" = the one in the package."""
    if file or not folder:
        return file
    return os.path.join(folder, "nn.bin")
