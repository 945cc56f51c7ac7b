"""Words of the reports; imports nothing heavy, as the command line needs them before anything is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from usi.analysis.threat import Threat

SIDE_NAMES = ("black", "white")
NOTATIONS = ("usi", "western", "japanese")


def threat_words(threat: Threat, side: int, line: Sequence[str]) -> str:
    """A statement about the threat of `side`, the one that is not to move; `line` as it is to be shown."""
    name = SIDE_NAMES[side]
    if threat.status == "threat":
        length = f"mate in {len(threat.line)}"
        kind = f"{name} threatens {length}" + (", and nothing stops it (brinkmate)" if threat.brinkmate else "")
        return f"{kind}: {' '.join(line)}"
    if threat.status == "in check":
        return f"in check from {name}: no pass, so no threat to speak of"
    if threat.status == "none":
        return f"{name} threatens no mate"
    return f"whether {name} threatens mate was not decided within the nodes"
