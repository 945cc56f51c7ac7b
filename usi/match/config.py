"""What a match is: engines, time controls and rules, from the command line and from a TOML file."""

from __future__ import annotations

import math
import shlex
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:  # the same parser under its old name
    import tomli as tomllib

from engine.rules.impasse import rule_index
from engine.rules.variants import VARIANTS
from usi.client import split_command
from usi.match.statistics import Sprt


class MatchError(ValueError):
    """The match cannot be played as asked; the text says what to change."""


@dataclass(frozen=True)
class Control:
    """How long one side may think. Times in milliseconds; a value of 0 is not used."""

    main: int = 0
    increment: int = 0
    byoyomi: int = 0
    nodes: int = 0
    depth: int = 0

    @property
    def has_clock(self) -> bool:
        return bool(self.main or self.increment or self.byoyomi)

    def __str__(self) -> str:
        parts = []
        if self.main or self.increment:
            parts.append(f"{self.main / 1000:g}+{self.increment / 1000:g} s")
        if self.byoyomi:
            parts.append(f"byoyomi {self.byoyomi / 1000:g} s")
        if self.nodes:
            parts.append(f"{self.nodes} nodes")
        if self.depth:
            parts.append(f"depth {self.depth}")
        return ", ".join(parts) or "no limit"


@dataclass(frozen=True)
class EngineSpec:
    """One engine: how to start it, its options, and a time control of its own where it differs from the match's."""

    name: str
    command: str | tuple[str, ...]
    folder: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    control: Control | None = None
    ponder: bool | None = None
    margin: int | None = None  # milliseconds over its time before the engine loses on time


@dataclass(frozen=True)
class MatchSettings:
    """Everything that decides which games are played and how they are judged."""

    engines: tuple[EngineSpec, ...]
    variant: str = "shogi"
    games: int = 100  # per pairing
    gauntlet: bool = False  # the first engine against each other one, in place of all against all
    control: Control = field(default_factory=lambda: Control(byoyomi=1000))
    margin: int = 100
    ponder: bool = False
    openings: str | None = None
    random_plies: int = 0  # length of random openings in place of a file, 0 = none
    seed: int = 1  # of the order of openings, and of random ones
    resign: int = 0  # centipawns, 0 = play on
    resign_moves: int = 3
    max_moves: int = 320
    rule: str | None = None  # declaration rule, None = the rules module's default
    sprt: Sprt | None = None
    concurrency: int = 1
    restart: bool = False
    start_timeout: float = 300.0  # seconds for usiok and for readyok (a first start may compile)
    move_timeout: float = 600.0  # seconds for a move without a clock
    answer_timeout: float = 10.0  # seconds an engine gets to answer `stop` before it counts as hanging
    log_all: bool = False

    def control_of(self, engine: EngineSpec) -> Control:
        return engine.control or self.control

    def margin_of(self, engine: EngineSpec) -> int:
        return self.margin if engine.margin is None else engine.margin

    def ponders(self, engine: EngineSpec) -> bool:
        return self.ponder if engine.ponder is None else engine.ponder

    def identity(self) -> dict[str, Any]:
        """What must stay the same when a match is resumed (the number of games may grow)."""
        kept = asdict(self)
        for name in ("games", "concurrency", "restart", "log_all", "sprt") + _TIMEOUTS:
            del kept[name]
        return kept


_TIMEOUTS = ("start_timeout", "move_timeout", "answer_timeout")
MOST_ELO = 2000  # of a sequential test
_CONTROL_KEYS = ("time", "byoyomi", "nodes", "depth")


def parse_time(text: str) -> tuple[int, int]:
    """ "60+0.6" -> (60000, 600): main time and increment, given in seconds, as milliseconds."""
    main, _, increment = text.partition("+")
    try:
        values = float(main), float(increment or 0)
    except ValueError:
        raise MatchError(f"time {text!r} is not SECONDS or SECONDS+INCREMENT") from None
    if not all(map(math.isfinite, values)) or min(values) < 0 or max(values) == 0:
        raise MatchError(f"time {text!r} leaves nothing to think with")
    return round(1000 * values[0]), round(1000 * values[1])


def parse_control(values: Mapping[str, Any]) -> Control | None:
    """The control in the keys time, byoyomi, nodes and depth; None if there is none of them."""
    if all(values.get(key) is None for key in _CONTROL_KEYS):
        return None
    time = values.get("time")
    main, increment = parse_time(str(time)) if time is not None else (0, 0)
    numbers = {key: _whole_number(key, values[key]) for key in _CONTROL_KEYS[1:] if values.get(key) is not None}
    return Control(main, increment, **numbers)


def _whole_number(key: str, value: Any) -> int:
    """A number of an engine or a control; --engine gives it as text."""
    try:
        if not isinstance(value, int | str) or isinstance(value, bool):
            raise ValueError
        number = int(value)
    except ValueError:
        raise MatchError(f"{key} needs a whole number, not {value!r}") from None
    if number < 0:
        raise MatchError(f"{key} cannot be negative: {number}")
    return number


def parse_engine(text: str) -> EngineSpec:
    """One --engine argument: `name=A cmd="engine --flag" option.Threads=1 byoyomi=500`, quoted as in a shell."""
    values: dict[str, Any] = {}
    options: dict[str, str] = {}
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise MatchError(f"engine {text!r}: {error}") from None
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise MatchError(f"engine {text!r}: {word!r} is not KEY=VALUE")
        if key.startswith("option."):
            options[key.removeprefix("option.")] = value
        else:
            values[key] = value
    return engine_from(values | {"options": options}, text)


def engine_from(values: Mapping[str, Any], source: str) -> EngineSpec:
    """An engine from the keys name, cmd, dir, options, ponder, margin and those of a control."""
    unknown = set(values) - {"name", "cmd", "dir", "options", "ponder", "margin", *_CONTROL_KEYS}
    if unknown:
        raise MatchError(f"engine {source!r}: unknown key {sorted(unknown)[0]!r}")
    for key, kind, wanted in _ENGINE_TYPES:
        if key in values and not isinstance(values[key], kind):
            raise MatchError(f"engine {source!r}: {key} needs {wanted}, not {values[key]!r}")
    options = values.get("options", {})
    for name, value in options.items():
        if not isinstance(value, str | int | float):
            raise MatchError(f"engine {source!r}: option {name} needs a text, a number or true/false, not {value!r}")
    words = _words_of(values.get("cmd", ""), source)
    command = values["cmd"] if isinstance(values["cmd"], str) else words
    margin = values.get("margin")
    return EngineSpec(
        name=values.get("name") or Path(words[0]).stem,
        command=command,
        folder=values.get("dir"),
        options={name: option_text(value) for name, value in options.items()},
        control=parse_control(values),
        ponder=None if values.get("ponder") is None else _truth("ponder", values["ponder"]),
        margin=None if margin is None else _whole_number("margin", margin),
    )


_ENGINE_TYPES = (
    ("name", str, "a text"),
    ("cmd", str | list, "a text or a list of texts"),
    ("dir", str, "a text"),
    ("options", Mapping, "a table { NAME = VALUE }"),
)


def _words_of(command: str | list[Any], source: str) -> tuple[str, ...]:
    """The program and its arguments."""
    try:
        words = split_command(command) if isinstance(command, str) else command
    except ValueError as error:
        raise MatchError(f"engine {source!r}: cmd {command!r}: {error}") from None
    if not words or not words[0]:
        raise MatchError(f"engine {source!r}: cmd= is missing")
    for word in words:
        if not isinstance(word, str):
            raise MatchError(f"engine {source!r}: cmd needs a text or a list of texts, not {word!r}")
    return tuple(words)


def _truth(key: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() not in ("true", "false", "on", "off"):
        raise MatchError(f"{key} is true or false, not {value!r}")
    return str(value).lower() in ("true", "on")


def option_text(value: Any) -> str:
    """An option's value as USI writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse_sprt(text: Any) -> Sprt:
    """ "elo0,elo1" or "elo0,elo1,alpha,beta", or a list of these numbers."""
    parts = text.split(",") if isinstance(text, str) else text if isinstance(text, list) else []
    try:
        numbers = [float(part) for part in parts]
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) not in (2, 4) or not -MOST_ELO <= numbers[0] < numbers[1] <= MOST_ELO:
        raise MatchError(f"sprt {text!r} is not elo0,elo1[,alpha,beta] with elo0 < elo1 (at most {MOST_ELO})")
    if len(numbers) == 4 and not all(0 < error < 0.5 for error in numbers[2:]):
        raise MatchError(f"sprt {text!r}: alpha and beta lie between 0 and 0.5")
    return Sprt(*numbers)


def read_toml(path: Path) -> dict[str, Any]:
    """The file's settings under the names of the command line's options; `engine` holds the list of engines."""
    try:
        with path.open("rb") as file:
            values = tomllib.load(file)
    except OSError as error:
        raise MatchError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise MatchError(f"{path}: {error}") from None
    engines = values.pop("engine", [])
    if not isinstance(engines, list) or not all(isinstance(engine, dict) for engine in engines):
        raise MatchError(f"{path}: write each engine as a table [[engine]]")
    values["engine"] = [engine_from(engine, f"{number} in {path}") for number, engine in enumerate(engines, 1)]
    return {key.replace("-", "_"): value for key, value in values.items()}


def build_settings(values: Mapping[str, Any]) -> MatchSettings:
    """Settings from option names to values (command line over file); a value of None is not given."""
    given = {key: value for key, value in values.items() if value is not None}
    engines = tuple(given.pop("engine", ()))
    control = parse_control(given)
    for key in _CONTROL_KEYS:
        given.pop(key, None)
    if not isinstance(given.get("sprt"), Sprt | None):
        given["sprt"] = parse_sprt(given["sprt"])
    kinds = {item.name: str(item.type) for item in fields(MatchSettings)}
    unknown = set(given) - set(kinds)
    if unknown:
        raise MatchError(f"unknown setting {sorted(unknown)[0]!r}")
    for key, value in given.items():
        _check_type(key, kinds[key], value)
    settings = MatchSettings(engines=engines, **given)
    if control is not None:
        settings = replace(settings, control=control)
    _check(settings)
    return settings


def _check_type(key: str, kind: str, value: Any) -> None:
    """A value of the kind that the field of MatchSettings is declared with, or MatchError."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    tests = {
        "int": (number and isinstance(value, int), "a whole number"),
        "float": (number and math.isfinite(value), "a number"),
        "bool": (isinstance(value, bool), "true or false"),
        "str": (isinstance(value, str), "a text in quotation marks"),
    }
    right, wanted = tests.get(kind.partition(" ")[0], (True, ""))
    if not right:
        raise MatchError(f"{key.replace('_', '-')} needs {wanted}, not {value!r}")


def _check_numbers(settings: MatchSettings) -> None:
    for key in ("margin", "resign", "max_moves", "random_plies"):
        if getattr(settings, key) < 0:
            raise MatchError(f"--{key.replace('_', '-')} cannot be negative: {getattr(settings, key)}")
    for key in ("games", "concurrency", "resign_moves"):
        if getattr(settings, key) < 1:
            raise MatchError(f"--{key.replace('_', '-')} starts at 1, not {getattr(settings, key)}")
    for key in _TIMEOUTS:
        if not 0 < getattr(settings, key) < threading.TIMEOUT_MAX:
            raise MatchError(f"--{key.replace('_', '-')} needs a time in seconds, not {getattr(settings, key):g}")


def _check(settings: MatchSettings) -> None:
    _check_numbers(settings)
    names = [engine.name for engine in settings.engines]
    if len(names) < 2:
        raise MatchError("a match needs two engines or more: --engine 'name=A cmd=...' --engine 'name=B cmd=...'")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise MatchError(f"two engines are called {twice!r}; give them different names")
    if settings.sprt is not None and len(names) != 2:
        raise MatchError("--sprt tests one engine against one other")
    if settings.variant not in VARIANTS:
        raise MatchError(f"unknown variant {settings.variant!r}: known are {', '.join(VARIANTS)}")
    if settings.rule is not None:
        rule_index(settings.rule)
    if settings.openings is not None and settings.random_plies:
        raise MatchError("--openings and --random-plies exclude each other")
    if settings.openings is not None and not Path(settings.openings).is_file():
        raise MatchError(f"there is no file of openings {settings.openings!r}")
