"""Which encoding a file has, told from its bytes: records come in UTF-8, Shift_JIS (cp932) and EUC-JP."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from usi.records.game import RecordError

ENCODINGS = ("utf-8", "utf-8-sig", "cp932", "euc_jp")
ALIASES = {"shift_jis": "cp932", "sjis": "cp932", "shift-jis": "cp932", "euc-jp": "euc_jp", "eucjp": "euc_jp"}
TITLES = {"utf-8": "UTF-8", "utf-8-sig": "UTF-8", "cp932": "Shift_JIS", "euc_jp": "EUC-JP"}


def codec_of(name: str) -> str:
    """Python's name of an encoding that records are written in. Raises RecordError naming the known ones."""
    key = name.strip().lower()
    key = ALIASES.get(key, key)
    if key not in ENCODINGS:
        raise RecordError(f"unknown encoding {name!r}: known are {', '.join(ENCODINGS)}")
    return key


def decode(data: bytes) -> str:
    """The text of a file without byte order mark and DOS end of file, all line ends as \\n.

    Raises RecordError with the line of the first bad byte.
    """
    return _decode(data.rstrip(b"\x1a")).replace("\r\n", "\n").replace("\r", "\n")


def _decode(data: bytes) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _strict(data, "utf-16")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
    found = []
    for encoding in ("cp932", "euc_jp"):
        try:
            found.append(data.decode(encoding))
        except UnicodeDecodeError:
            continue
    if not found:
        raise RecordError("the bytes are neither UTF-8 nor Shift_JIS nor EUC-JP", line)
    return min(found, key=_strangeness)


def _strict(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise RecordError(f"the bytes are not {encoding}: {error.reason}") from None


def _strangeness(text: str) -> float:
    """Share of characters that Japanese text hardly has. EUC-JP read as Shift_JIS turns to halfwidth kana."""
    foreign = [letter for letter in text if letter > "\x7f"]
    strange = sum("\uff61" <= letter <= "\uff9f" or "\ue000" <= letter <= "\uf8ff" for letter in foreign)
    return strange / max(1, len(foreign))


def encode(text: str, encoding: str) -> bytes:
    """The bytes of a text. Raises RecordError naming a character that the encoding does not have, and its line."""
    codec = codec_of(encoding)
    try:
        return text.encode(codec)
    except UnicodeEncodeError as error:
        letter = text[error.start]
        line = text.count("\n", 0, error.start) + 1
        raise RecordError(f"{TITLES[codec]} has no {letter!r} (line {line} of the output); UTF-8 has") from None


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a decoded text with their numbers, from 1. Only real line ends count, not those of Unicode."""
    return enumerate(text.split("\n"), 1)
