"""The lines of the USI protocol, both ends: text to dataclass and dataclass to text, with no state anywhere.

Engine side: `parse_command` reads what a GUI sends, the `format_*` functions of the second part write the answers.
GUI side: `format_command` writes the commands, `parse_reply` reads what an engine answers.
Reading is lenient (any run of blanks, missing values, unknown words); writing is strict (one blank, plain integers),
because GUIs split on a single blank.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from engine.search.limits import Info, Limits

BLANKS = " \t\r\n\f\v"
EMPTY = "<empty>"
MATE_LENGTH_UNKNOWN = 9999
"""`Info.mate` of the lines `score mate +` and `score mate -` (with the sign of the winner)."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]*)?\Z")
_SETOPTION = re.compile(r"name[ \t]+(?P<name>\S.*?)(?:[ \t]+value(?P<value>[ \t].*)?(?P<end>))?\Z", re.DOTALL)


class ProtocolError(ValueError):
    """A line that makes no sense; the text names the bad token."""


# ---------------------------------------------------------------- what a GUI sends


@dataclass(frozen=True)
class Usi:
    """`usi`: who are you and which options do you have?"""


@dataclass(frozen=True)
class IsReady:
    """`isready`: do the heavy work now and say `readyok`."""


@dataclass(frozen=True)
class SetOption:
    """`setoption name NAME [value VALUE]`; value None = the word `value` is absent (a button)."""

    name: str
    value: str | None = None


@dataclass(frozen=True)
class UsiNewGame:
    """`usinewgame`: forget the old game."""


@dataclass(frozen=True)
class Position:
    """`position ...`; sfen None = the start position of the variant in use."""

    sfen: str | None = None
    moves: tuple[str, ...] = ()


@dataclass(frozen=True)
class Go:
    """`go ...`; complaints name the words that could not be used."""

    limits: Limits = field(default_factory=Limits)
    complaints: tuple[str, ...] = ()


@dataclass(frozen=True)
class PonderHit:
    """`ponderhit [times]`; limits None = those of `go ponder` hold; complaints as in Go."""

    limits: Limits | None = None
    complaints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stop:
    """`stop`: answer now."""


@dataclass(frozen=True)
class GameOver:
    """`gameover win|lose|draw`."""

    result: str = ""


@dataclass(frozen=True)
class Quit:
    """`quit`, and the end of the input."""


@dataclass(frozen=True)
class Debug:
    """`debug on|off`, of UCI; there is nothing to switch."""

    on: bool = True


@dataclass(frozen=True)
class Unknown:
    """A line whose first word is no command."""

    text: str


Command = Usi | IsReady | SetOption | UsiNewGame | Position | Go | PonderHit | Stop | GameOver | Quit | Debug | Unknown


def split_words(text: str) -> list[str]:
    """The words of a line; only ASCII blanks separate, so that a path may hold any other character."""
    return [word for word in re.split(f"[{BLANKS}]+", text) if word]


def parse_command(line: str) -> Command | None:
    """One line from a GUI; None for an empty line. Raises ProtocolError for a known command that makes no sense."""
    text = line.strip(BLANKS + "\ufeff\0")
    if not text:
        return None
    word = split_words(text)[0]
    rest = text[len(word) :].lstrip(BLANKS)
    parser = _COMMAND_PARSERS.get(word)
    return Unknown(text) if parser is None else parser(rest)


def parse_setoption(rest: str) -> SetOption:
    """`name NAME... [value VALUE...]`: the name goes up to the word `value`, the rest is one value with its blanks."""
    match = _SETOPTION.match(rest)
    if match is None:
        raise ProtocolError(f"setoption: expected 'name NAME', got {_shown(rest)}")
    has_value = match["end"] is not None
    return SetOption(" ".join(split_words(match["name"])), (match["value"] or "").strip(BLANKS) if has_value else None)


def parse_position(rest: str) -> Position:
    """`startpos [moves ...]` or `[sfen] BOARD SIDE HAND [PLY] [moves ...]`; what the fields mean is not looked at."""
    words = split_words(rest)
    if not words:
        raise ProtocolError("position: expected 'startpos' or 'sfen', got nothing")
    end = words.index("moves") if "moves" in words else len(words)
    moves = tuple(words[end + 1 :])
    if words[0] == "startpos":
        if end > 1:
            raise ProtocolError(f"position: expected 'moves', got {_shown(words[1])}")
        return Position(None, moves)
    fields = words[1:end] if words[0] == "sfen" else words[:end]
    if words[0] != "sfen" and "/" not in words[0]:
        raise ProtocolError(f"position: expected 'startpos' or 'sfen', got {_shown(words[0])}")
    if not fields:
        raise ProtocolError("position: nothing after 'sfen'")
    return Position(" ".join(fields), moves)


_NUMBERS = {  # word of `go`: (field of Limits, lowest value, value when it is missing or unreadable)
    "btime": ("btime", 0, 0),
    "wtime": ("wtime", 0, 0),
    "binc": ("binc", 0, 0),
    "winc": ("winc", 0, 0),
    "byoyomi": ("byoyomi", 0, 0),
    "movetime": ("movetime", 0, 0),
    "rtime": ("movetime", 0, 0),
    "depth": ("depth", 1, 1),
    "nodes": ("nodes", 1, 1),
}
_CLOCK_WORDS = {"btime", "wtime", "binc", "winc", "byoyomi"}
_GO_WORDS = {*_NUMBERS, "infinite", "ponder", "mate", "searchmoves", "movestogo"}


def parse_go(rest: str) -> Go:
    """Every limit, in any order. A clock word without a value counts as 0: better a quick move than none."""
    words = split_words(rest)
    limits = Limits()
    complaints: list[str] = []
    timed = False
    while words:
        word = words.pop(0)
        if word in ("infinite", "ponder"):
            setattr(limits, word, True)
        elif word == "searchmoves":
            while words and words[0] not in _GO_WORDS:
                limits.searchmoves.append(words.pop(0))
        elif word == "mate":
            limits.mate = _take_mate_time(words, complaints)
        elif word == "movestogo":
            _take_integer(word, words, complaints)
        elif word in _NUMBERS:
            name, lowest, fallback = _NUMBERS[word]
            value = _take_integer(word, words, complaints)
            setattr(limits, name, fallback if value is None else max(lowest, value))
            if value is not None and value < 0 and word not in _CLOCK_WORDS:  # a clock may have run out
                complaints.append(f"go: {word} {value} is negative")
            timed = timed or word in _CLOCK_WORDS
        else:
            complaints.append(f"go: unknown word {_shown(word)}")
    if timed:
        limits.btime, limits.wtime = limits.btime or 0, limits.wtime or 0
    if not is_limited(limits) and not limits.ponder:
        limits.infinite = True
    return Go(limits, tuple(complaints))


def is_limited(limits: Limits) -> bool:
    """True if a search under these limits ends, or is called infinite: False for a bare `go` or `go ponder`."""
    given = (limits.btime, limits.wtime, limits.movetime, limits.depth, limits.nodes, limits.mate)
    return limits.infinite or any(limit is not None for limit in given)


def parse_ponderhit(rest: str) -> PonderHit:
    """`ponderhit`, or with the times of the clock that starts now."""
    go = parse_go(rest)
    limits = go.limits
    complaints = tuple(text.replace("go:", "ponderhit:", 1) for text in go.complaints)
    if limits.infinite and "infinite" not in split_words(rest):
        return PonderHit(None, complaints)
    limits.ponder = False
    return PonderHit(limits, complaints)


def _take_integer(word: str, words: list[str], complaints: list[str]) -> int | None:
    if not words or words[0] in _GO_WORDS:
        complaints.append(f"go: no value after {word}")
        return None
    value = parse_integer(words[0])
    if value is None:
        complaints.append(f"go: {word} {_shown(words[0])} is no number")
    words.pop(0)
    return value


def _take_mate_time(words: list[str], complaints: list[str]) -> int:
    if not words or words[0] == "infinite":
        del words[:1]
        return -1
    value = _take_integer("mate", words, complaints)
    return -1 if value is None else max(0, value)


def parse_integer(word: str) -> int | None:
    """A decimal integer, a fraction being cut off; None if the word is anything else."""
    return int(word.partition(".")[0]) if _INTEGER.match(word) else None


def _shown(text: str) -> str:
    """A token as messages show it: quoted, short, without line breaks."""
    text = " ".join(split_words(text))
    return repr(text if len(text) <= 60 else text[:57] + "...")


_COMMAND_PARSERS: dict[str, Callable[[str], Command]] = {
    "usi": lambda rest: Usi(),
    "isready": lambda rest: IsReady(),
    "setoption": parse_setoption,
    "usinewgame": lambda rest: UsiNewGame(),
    "position": parse_position,
    "go": parse_go,
    "ponderhit": parse_ponderhit,
    "stop": lambda rest: Stop(),
    "gameover": lambda rest: GameOver(rest),
    "quit": lambda rest: Quit(),
    "debug": lambda rest: Debug(rest != "off"),
}


def format_setoption(command: SetOption) -> str:
    """`setoption name N [value V]`."""
    if command.value is None:
        return f"setoption name {command.name}"
    return f"setoption name {command.name} value {command.value}"


def format_position(command: Position) -> str:
    """`position startpos|sfen ... [moves ...]`."""
    start = "startpos" if command.sfen is None else f"sfen {command.sfen}"
    return " ".join(["position", start, *(["moves", *command.moves] if command.moves else [])])


def format_go(command: Go) -> str:
    """`go ...` with the limits that are given."""
    return " ".join(["go", *_limit_words(command.limits)])


def format_ponderhit(command: PonderHit) -> str:
    """`ponderhit`, with times if there are any."""
    return " ".join(["ponderhit", *([] if command.limits is None else _limit_words(command.limits))])


def _limit_words(limits: Limits) -> list[str]:
    words: list[str] = ["ponder"] if limits.ponder else []
    for name in ("btime", "wtime", "movetime", "depth", "nodes"):
        value = getattr(limits, name)
        if value is not None:
            words += [name, str(value)]
    increments = bool(limits.binc or limits.winc)
    if increments:
        words += ["binc", str(limits.binc), "winc", str(limits.winc)]
    if limits.byoyomi or (limits.btime is not None and not increments):
        words += ["byoyomi", str(limits.byoyomi)]
    if limits.mate is not None:
        words += ["mate", "infinite" if limits.mate < 0 else str(limits.mate)]
    if limits.infinite:
        words.append("infinite")
    if limits.searchmoves:
        words += ["searchmoves", *limits.searchmoves]
    return words


def format_command(command: Command) -> str:
    """The line for any command."""
    return _COMMAND_FORMATS[type(command)](command)


_COMMAND_FORMATS: dict[type, Callable[..., str]] = {
    Usi: lambda command: "usi",
    IsReady: lambda command: "isready",
    SetOption: format_setoption,
    UsiNewGame: lambda command: "usinewgame",
    Position: format_position,
    Go: format_go,
    PonderHit: format_ponderhit,
    Stop: lambda command: "stop",
    GameOver: lambda command: f"gameover {command.result}",
    Quit: lambda command: "quit",
    Debug: lambda command: f"debug {'on' if command.on else 'off'}",
    Unknown: lambda command: command.text,
}


# ---------------------------------------------------------------- what an engine answers


@dataclass(frozen=True)
class Id:
    """`id name X` or `id author Y`."""

    key: str
    value: str


@dataclass(frozen=True)
class OptionLine:
    """`option name N type T [default D] [min A] [max B] [var V ...]`; default is the text of the line."""

    name: str
    type: str
    default: str | None = None
    minimum: int | None = None
    maximum: int | None = None
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class UsiOk:
    """`usiok`."""


@dataclass(frozen=True)
class ReadyOk:
    """`readyok`."""


@dataclass(frozen=True)
class BestMove:
    """`bestmove MOVE [ponder MOVE]`; the move may be `resign` or `win`, and empty in a broken line."""

    move: str
    ponder: str | None = None


@dataclass(frozen=True)
class Checkmate:
    """`checkmate m1 m2 ...`, or moves empty and a verdict: `nomate`, `timeout`, `notimplemented`."""

    moves: tuple[str, ...] = ()
    verdict: str | None = None


Reply = Id | OptionLine | UsiOk | ReadyOk | Info | BestMove | Checkmate | Unknown
VERDICTS = ("nomate", "timeout", "notimplemented")


def format_id(name: str, author: str) -> list[str]:
    """The two `id` lines."""
    return [f"id name {name}", f"id author {author}"]


def format_option(option: OptionLine) -> str:
    """One `option` line; an empty default is written `<empty>`."""
    words = ["option", "name", option.name, "type", option.type]
    if option.default is not None:
        words += ["default", option.default or EMPTY]
    if option.minimum is not None:
        words += ["min", str(option.minimum)]
    if option.maximum is not None:
        words += ["max", str(option.maximum)]
    for value in option.values:
        words += ["var", value]
    return " ".join(words)


def format_info(info: Info) -> str:
    """One `info` line: `pv` last, or `info string` alone if the record carries a text."""
    if info.text is not None:
        return format_info_string(info.text)
    words = ["info"]
    for name, value in (("depth", info.depth), ("seldepth", info.seldepth)):
        if value > 0:
            words += [name, str(value)]
    words += ["time", str(info.time_ms), "nodes", str(info.nodes), "nps", str(info.nps)]
    words += ["hashfull", str(info.hashfull)]
    if info.score_cp is not None or info.mate is not None:
        words += ["multipv", str(info.multipv), "score", *_score_words(info)]
    if info.currmove is not None:
        words += ["currmove", info.currmove]
    if info.pv:
        words += ["pv", *info.pv]
    return " ".join(words)


def _score_words(info: Info) -> list[str]:
    words = ["cp", str(info.score_cp)] if info.mate is None else ["mate", format_mate(info.mate)]
    if info.bound is not None:
        words.append(f"{info.bound}bound")
    return words


def format_mate(plies: int) -> str:
    """Mate length as GUIs read it: 0 is the side to move's loss and must be written `-0` (`0` reads as a win)."""
    if abs(plies) == MATE_LENGTH_UNKNOWN:
        return "+" if plies > 0 else "-"
    return str(plies) if plies else "-0"


def format_info_string(text: str) -> str:
    """`info string TEXT`, on one line whatever the text."""
    return " ".join(["info", "string", *split_words(text)])


def format_bestmove(answer: BestMove) -> str:
    """`bestmove MOVE [ponder MOVE]`."""
    return f"bestmove {answer.move}" + (f" ponder {answer.ponder}" if answer.ponder else "")


def format_checkmate(answer: Checkmate) -> str:
    """`checkmate ...`; without moves and verdict it is a mate search that found nothing in time."""
    return " ".join(["checkmate", *(answer.moves or [answer.verdict or "timeout"])])


def parse_reply(line: str) -> Reply | None:
    """One line from an engine; None for an empty line. Never raises: engines say many things."""
    words = split_words(line.strip(BLANKS + "\ufeff\0"))
    if not words:
        return None
    parser = _REPLY_PARSERS.get(words[0])
    reply = None if parser is None else parser(words[1:])
    return Unknown(" ".join(words)) if reply is None else reply


def parse_id(words: Sequence[str]) -> Id | None:
    """`name X...` or `author Y...`."""
    return Id(words[0], " ".join(words[1:])) if words else None


_OPTION_WORDS = ("name", "type", "default", "min", "max", "var")


def parse_option(words: Sequence[str]) -> OptionLine | None:
    """An option; names, defaults and combo values may hold blanks. None without a name or a type."""
    parts: list[tuple[str, str]] = []
    for word in words:
        if word in _OPTION_WORDS and _starts_a_part(word, parts):
            parts.append((word, ""))
        elif parts:
            key, text = parts[-1]
            parts[-1] = (key, f"{text} {word}".strip())
    known = dict(parts)
    if not known.get("name") or not known.get("type"):
        return None
    default = known.get("default")
    return OptionLine(
        known["name"],
        known["type"],
        "" if default == EMPTY else default,
        parse_integer(known.get("min", "")),
        parse_integer(known.get("max", "")),
        tuple(text for key, text in parts if key == "var"),
    )


def _starts_a_part(word: str, parts: list[tuple[str, str]]) -> bool:
    """Whether a keyword of an option line is one here, and not a value ("default default var default")."""
    if not parts:
        return True
    key, text = parts[-1]
    if key == "name":
        return word == "type" and bool(text)
    return bool(text) or (key == "default" and word != "default")


def parse_bestmove(words: Sequence[str]) -> BestMove:
    """`MOVE [ponder MOVE]`; some engines write `ponder (none)` or nothing after the word."""
    ponder = words[2] if len(words) > 2 and words[1] == "ponder" and words[2][0] != "(" else None
    return BestMove(words[0] if words else "", ponder)


def parse_checkmate(words: Sequence[str]) -> Checkmate:
    """A line of moves or a verdict; nothing at all counts as `timeout`."""
    if not words or words[0] in VERDICTS:
        return Checkmate(verdict=words[0] if words else "timeout")
    return Checkmate(tuple(words))


_INFO_NUMBERS = {
    "depth": "depth",
    "seldepth": "seldepth",
    "time": "time_ms",
    "nodes": "nodes",
    "nps": "nps",
    "hashfull": "hashfull",
    "multipv": "multipv",
}


def parse_info(words: Sequence[str]) -> Info:
    """The report in an `info` line; words that are not known are skipped one by one."""
    info = Info()
    index = 0
    while index < len(words):
        word = words[index]
        following = words[index + 1] if index + 1 < len(words) else ""
        index += 1
        if word == "string":
            info.text = " ".join(words[index:])
            break
        if word == "pv":
            info.pv = list(words[index:])
            break
        if word in _INFO_NUMBERS:
            value = parse_integer(following)
            if value is not None:
                setattr(info, _INFO_NUMBERS[word], value)
                index += 1
        elif word == "currmove":
            info.currmove = following or None
            index += 1
        elif word == "cp":
            info.score_cp = parse_integer(following)
        elif word == "mate":
            info.mate = parse_mate(following)
        elif word in ("lowerbound", "upperbound"):
            info.bound = word.removesuffix("bound")
    return info


def parse_mate(word: str) -> int | None:
    """Plies to mate with the winner's sign; `+` and `-` have no length. A zero of any sign is "mated now"."""
    if word in ("+", "-"):
        return MATE_LENGTH_UNKNOWN if word == "+" else -MATE_LENGTH_UNKNOWN
    return parse_integer(word)


_REPLY_PARSERS: dict[str, Callable[[Sequence[str]], Reply | None]] = {
    "id": parse_id,
    "option": parse_option,
    "usiok": lambda words: UsiOk(),
    "readyok": lambda words: ReadyOk(),
    "info": parse_info,
    "bestmove": parse_bestmove,
    "checkmate": parse_checkmate,
}


# ---------------------------------------------------------------- bytes


def decode_line(raw: bytes, fallback: str | None = None) -> str:
    """Text of one line: UTF-8, else the fallback code page (old Windows GUIs), else UTF-8 with odd bytes kept."""
    for encoding in ("utf-8", fallback):
        if encoding:
            try:
                return raw.decode(encoding)
            except (UnicodeDecodeError, LookupError):
                continue
    return raw.decode("utf-8", "surrogateescape")


def encode_lines(lines: Iterable[str]) -> bytes:
    """Bytes of lines, each ended by a line feed; what UTF-8 cannot hold (odd bytes that came in) becomes `?`."""
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
