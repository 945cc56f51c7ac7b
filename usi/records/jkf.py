"""JKF: game records as JSON (json-kifu-format), with variations, comments and clocks in whole seconds; 9x9 only."""

from __future__ import annotations

import json
import math
from typing import Any

from engine.rules.codes import (
    BLACK,
    HAND_TYPES,
    KING,
    PIECE_LETTERS,
    RANK_LETTERS,
    WHITE,
    colour_of,
    is_drop,
    is_promotion,
    move_from,
    move_to,
    piece_letter,
    piece_of,
    square_of,
    type_of,
)
from engine.rules.moves import parse_usi
from engine.rules.notation import DROP, FILES, KANJI, PROMOTES, RANKS, SAME, STAYS
from engine.rules.sfen import Placement, format_sfen, parse_sfen
from engine.rules.variants import SHOGI
from usi.records import ends
from usi.records.builder import Builder, make_board
from usi.records.csa import NAMES
from usi.records.game import Game, Node, RecordError, lines_of_play
from usi.records.handicaps import by_jkf, by_kif, jkf_name
from usi.records.head import HANDICAP

RELATIVE = {"L": "左", "C": "直", "R": "右", "U": "上", "M": "寄", "D": "引", "H": DROP}
_LETTERS = {kanji: letter for letter, kanji in RELATIVE.items()}
_SHAPES = {dict: "an object", list: "a list", str: "a text", int: "a number"}


def read(text: str, variant: str | None = None) -> list[Game]:
    """The game of a JKF text, or all of a list of them. Raises RecordError; it names the place as in moves[12]."""
    if variant not in (None, SHOGI.name):
        raise RecordError(f"JKF has no {variant}")
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise RecordError(f"not JSON: {error.msg}", error.lineno) from None
    except (RecursionError, ValueError) as error:
        raise RecordError(f"not JKF: {error}") from None
    return [Reader(_shaped(each, dict, "the file")).read() for each in (data if isinstance(data, list) else [data])]


class Reader:
    """Reads one game."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        if "moves" not in data:
            raise RecordError("not JKF: it has no moves")
        self.headers = {
            str(key): value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            for key, value in _shaped(data.get("header", {}), dict, "header").items()
        }
        self.builder = Builder(self._start())
        self.builder.game.headers = self.headers
        self.origins = False  # moves have origins: one without is a drop

    def _start(self) -> str | None:
        if "initial" not in self.data:
            known = by_kif().get(self.headers.get(HANDICAP, ""))
            if known is not None and known[0] == SHOGI.name:
                del self.headers[HANDICAP]
                return known[1]
            return None
        initial = _shaped(self.data["initial"], dict, "initial")
        preset = initial.get("preset")
        if preset == "OTHER":
            return _read_position(_shaped(initial.get("data"), dict, "initial.data"))
        try:
            return by_jkf()[str(preset)]
        except KeyError:
            raise RecordError(f"initial.preset: unknown start {preset!r}") from None

    def read(self) -> Game:
        """The game with all its variations."""
        entries = _shaped(self.data["moves"], list, "moves")
        self.origins = _has_origins(entries)
        if entries and not ({"move", "special"} & set(_shaped(entries[0], dict, "moves[0]"))):
            self._read_comments(entries[0], self.builder.node, "moves[0]")
            waiting = [(0, entries[1:], "moves", 1)]
        else:
            waiting = [(0, entries, "moves", 0)]
        while waiting:
            ply, line, where, first = waiting.pop()
            self.builder.fork(ply, None)
            forks = []
            for index, entry in enumerate(line):
                place = f"{where}[{index + first}]"
                entry = _shaped(entry, dict, place)
                found = _shaped(entry.get("forks", []), list, f"{place}.forks")
                forks += [
                    (self.builder.ply, _shaped(fork, list, f"{place}.forks[{number}]"), f"{place}.forks[{number}]", 0)
                    for number, fork in reversed(list(enumerate(found)))
                ]
                self._read_entry(entry, place)
            waiting += forks
        return self.builder.finish()

    def _read_entry(self, entry: dict[str, Any], where: str) -> None:
        try:
            if "move" in entry:
                node = self._read_move(_shaped(entry["move"], dict, "move"))
            elif "special" in entry:
                node = self.builder.end(_end(entry["special"]), None)
            else:
                raise RecordError("neither a move nor an end")
            if "time" in entry and not (node.illegal and node.seconds is not None):
                node.seconds = _read_time(_shaped(entry["time"], dict, "time"))
        except RecordError as error:
            raise RecordError(f"{where}: {error}") from None
        self._read_comments(entry, node, where)

    def _read_comments(self, entry: dict[str, Any], node: Node, where: str) -> None:
        for comment in _shaped(entry.get("comments", []), list, f"{where}.comments"):
            node.note(_shaped(comment, str, f"{where}.comments"))

    def _read_move(self, move: dict[str, Any]) -> Node:
        """Play a move. Raises RecordError."""
        builder = self.builder
        if "color" in move and move["color"] != builder.side:
            raise RecordError(f"color {move['color']!r}, but the other side is to move")
        kind = _kind(move["piece"]) if "piece" in move else None
        if "to" in move:
            target = _square(move["to"], "to")
        elif builder.last_target is None:
            raise RecordError("no square to move to")
        else:
            target = builder.last_target
        if "from" in move:
            origin = _square(move["from"], "from")
            if kind is not None and builder.piece_at(origin) != piece_letter(piece_of(kind, builder.side)):
                raise RecordError(f"there is no {NAMES[kind]} of the side to move on {origin}")
            return builder.play(origin + target + ("+" if move.get("promote") is True else ""), None)
        if kind is None:
            raise RecordError("neither piece nor origin")
        if (self.origins or move.get("relative") == "H") and kind < KING:
            return builder.play(f"{PIECE_LETTERS[kind]}*{target}", None)
        return builder.play_japanese(_japanese(target, kind, move), None)


def _has_origins(entries: list[Any]) -> bool:
    """True if any move of the main line says where it comes from, as in files that are complete."""
    moves = [entry.get("move") for entry in entries if isinstance(entry, dict)]
    return any("from" in move for move in moves if isinstance(move, dict))


def _japanese(target: str, kind: int, move: dict[str, Any]) -> str:
    """Japanese notation of a move that has no origin."""
    manner = "".join(RELATIVE.get(letter, "") for letter in str(move.get("relative", "")))
    promotion = {True: PROMOTES, False: STAYS}.get(move["promote"] is True) if "promote" in move else ""
    return f"{FILES[int(target[0]) - 1]}{RANKS[RANK_LETTERS.index(target[1])]}{KANJI[kind]}{manner}{promotion}"


def _shaped(value: Any, shape: type, where: str) -> Any:
    """The value, if it is of that type. Raises RecordError."""
    if not isinstance(value, shape) or isinstance(value, bool):
        raise RecordError(f"{where} is not {_SHAPES[shape]}")
    return value


def _end(word: Any) -> str:
    if not isinstance(word, str) or word not in ends.KNOWN:
        raise RecordError(f"unknown end {word!r}")
    return word


def _kind(name: Any) -> int:
    if name not in NAMES[1:]:
        raise RecordError(f"unknown piece {name!r}")
    return NAMES.index(name)


def _square(value: Any, where: str) -> str:
    place = _shaped(value, dict, where)
    file, rank = _shaped(place.get("x"), int, f"{where}.x"), _shaped(place.get("y"), int, f"{where}.y")
    if not (1 <= file <= 9 and 1 <= rank <= 9):
        raise RecordError(f"no square {file}, {rank}")
    return f"{file}{RANK_LETTERS[rank - 1]}"


def _read_time(time: dict[str, Any]) -> float:
    now = _shaped(time.get("now"), dict, "time.now")
    seconds = 0.0
    for unit in ("h", "m", "s"):
        value = now.get(unit) or 0
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
            raise RecordError(f"time.now.{unit} is {value!r}")
        seconds = 60 * seconds + value
    return seconds


def _read_position(data: dict[str, Any]) -> str:
    """SFEN of a start position that is spelt out."""
    placement = Placement(side=WHITE if data.get("color") == WHITE else BLACK)
    files = _shaped(data.get("board"), list, "initial.data.board")
    if len(files) != 9:
        raise RecordError(f"initial.data.board has {len(files)} files")
    for file, cells in enumerate(files):
        if len(_shaped(cells, list, "initial.data.board")) != 9:
            raise RecordError(f"initial.data.board[{file}] has {len(cells)} squares")
        for rank, cell in enumerate(cells):
            if _shaped(cell, dict, f"initial.data.board[{file}][{rank}]").get("kind"):
                colour = WHITE if cell.get("color") == WHITE else BLACK
                placement.board[square_of(file, rank)] = piece_of(_kind(cell["kind"]), colour)
    hands = _shaped(data.get("hands", []), list, "initial.data.hands")
    for colour, hand in enumerate(hands[:2]):
        for name, count in _shaped(hand, dict, f"initial.data.hands[{colour}]").items():
            kind = _kind(name)
            if kind >= KING or not 0 <= _shaped(count, int, f"initial.data.hands[{colour}].{name}") <= SHOGI.box[kind]:
                raise RecordError(f"initial.data.hands[{colour}]: {count} {name}")
            placement.hands[colour][kind] = count
    return format_sfen(placement, SHOGI)


# writing


def write(games: list[Game], encoding: str = "utf-8") -> str:
    """The JKF text of one game, without the remarks of its file. Raises RecordError for boards other than 9x9."""
    game = games[0]
    if game.variant != SHOGI.name:
        raise RecordError(f"JKF has no {game.variant}")
    data = {"header": game.headers, "initial": _initial(game.start), "moves": _moves(game)}
    try:
        return json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"
    except RecursionError:
        raise RecordError("the variations are nested too deeply for JSON") from None


def _initial(start: str) -> dict[str, Any]:
    placement = parse_sfen(start, SHOGI)
    placement.ply = 1
    preset = jkf_name(format_sfen(placement, SHOGI))
    if preset is not None:
        return {"preset": preset}
    board = [[_cell(placement.board[square_of(file, rank)]) for rank in range(9)] for file in range(9)]
    hands = [{NAMES[kind]: hand[kind] for kind in HAND_TYPES if hand[kind]} for hand in placement.hands]
    return {"preset": "OTHER", "data": {"color": placement.side, "board": board, "hands": hands}}


def _cell(piece: int) -> dict[str, Any]:
    return {"color": colour_of(piece), "kind": NAMES[type_of(piece)]} if piece else {}


def _moves(game: Game) -> list[dict[str, Any]]:
    """The entries of the main line, the variations inside the entries they are alternatives to."""
    board = make_board(game.variant, game.start)
    clocks = [(0.0, 0.0)]  # by ply: seconds that both sides have used
    path = [game.root]
    entries: dict[int, dict[str, Any]] = {}  # by id of the node
    main: list[dict[str, Any]] = [_said(game.root)]
    for ply, line in lines_of_play(game.root):
        while len(board.move_stack) > ply:
            board.pop()
        del path[ply + 1 :], clocks[ply + 1 :]
        first = path[ply].children[0]
        written = main if first is line[0][0] and ply == 0 else []
        for node, _ in line:
            side = board.turn
            black, white = clocks[-1]
            used = node.seconds or 0.0
            clocks.append((black, white + used) if side else (black + used, white))
            new = _entries(node, board, clocks[-1][side])
            entries[id(node)] = new[0]
            written += new
            path.append(node)
        if written is not main:
            entries[id(first)].setdefault("forks", []).append(written)
    return main


def _entries(node: Node, board: Any, total: float) -> list[dict[str, Any]]:
    """The entry of a node, two for an end by an illegal move; a move is played on the board."""
    entry: dict[str, Any] = {}
    usi = node.move or node.illegal
    if usi is not None:
        entry["move"] = _move(usi, board, legal=node.move is not None)
    if node.move is not None:
        board.push_usi(node.move)
    if node.seconds is not None:
        entry["time"] = _time(node.seconds, total)
    if node.illegal is not None:
        return [entry, {"special": node.end} | _said(node)]
    if node.end is not None:
        entry["special"] = node.end
    return [entry | _said(node)]


def _said(node: Node) -> dict[str, Any]:
    comments = [f"&{node.bookmark}"] if node.bookmark is not None else []
    comments += node.comments
    return {"comments": comments} if comments else {}


def _time(seconds: float, total: float) -> dict[str, Any]:
    now, so_far = math.floor(seconds + 0.5), math.floor(total + 0.5)
    hours, rest = divmod(so_far, 3600)
    return {"now": {"m": now // 60, "s": now % 60}, "total": {"h": hours, "m": rest // 60, "s": rest % 60}}


def _move(usi: str, board: Any, legal: bool) -> dict[str, Any]:
    """A move with all that readers may want to know about it."""
    move = parse_usi(usi, SHOGI)
    target, placement = move_to(move), board.placement()
    out: dict[str, Any] = {"color": board.turn}
    if is_drop(move):
        out |= {"piece": NAMES[move_from(move)], "to": _place(target)}
    else:
        out |= {"piece": NAMES[type_of(placement.board[move_from(move)])]}
        out |= {"from": _place(move_from(move)), "to": _place(target)}
        if placement.board[target]:
            out["capture"] = NAMES[type_of(placement.board[target])]
    if board.move_stack and board.move_stack[-1].to_square == target:
        out["same"] = True
    text = board.japanese(board.parse_usi(usi), sign=False) if legal else ""
    if is_promotion(move) or text.endswith(STAYS):
        out["promote"] = is_promotion(move)
    manner = text.removesuffix(STAYS).removesuffix(PROMOTES)
    relative = "".join(
        _LETTERS[letter] for letter in manner[1 if manner.startswith(SAME) else 2 :] if letter in _LETTERS
    )
    return out | ({"relative": relative} if relative else {})


def _place(square: int) -> dict[str, int]:
    return {"x": square // 9 + 1, "y": square % 9 + 1}
