"""Where the games of a match start: a file, the set that comes with the package, or random balanced positions."""

from __future__ import annotations

from pathlib import Path

from usi.match.config import MatchError, MatchSettings
from usi.match.schedule import Opening, opening_order, read_openings, rounds_of

SHIPPED = Path(__file__).resolve().parent / "sets"
BALANCE = 100  # centipawns that random openings may be worth to either side ...
BALANCE_NODES = 20_000  # ... by a search of so many nodes
DEFAULT_PLIES = 8
TRIES = 50  # random openings that are tried for each new one


def openings_of(settings: MatchSettings, folder: Path) -> list[Opening]:
    """One opening for every round, in the order of play. Random ones are kept in `folder`. Raises MatchError."""
    rounds = rounds_of(settings.games)
    path = Path(settings.openings) if settings.openings else shipped_set(settings.variant)
    if settings.random_plies or path is None:
        return random_openings(settings, rounds, folder / "openings.usi")
    openings = read_openings(path)
    return [openings[index] for index in opening_order(len(openings), rounds, settings.seed)]


def shipped_set(variant: str) -> Path | None:
    """The file of openings that comes with the package, if there is one."""
    path = SHIPPED / f"{variant}.usi"
    return path if path.is_file() else None


def random_openings(settings: MatchSettings, count: int, path: Path) -> list[Opening]:
    """Random openings that our search calls balanced, all different; those of an earlier run stay the first ones."""
    openings = read_openings(path) if path.exists() else []
    if len(openings) >= count:
        return openings[:count]
    from engine.search.selfplay import SelfPlayer
    from usi.selfplay.settings import SelfplaySettings

    plies = settings.random_plies or DEFAULT_PLIES
    player = SelfPlayer(
        SelfplaySettings(
            variant=settings.variant,
            nodes=BALANCE_NODES,
            opening_low=plies,
            opening_high=plies,
            balance=BALANCE,
            balance_nodes=BALANCE_NODES,
        )
    )
    known = set(openings)
    for number in range(TRIES * count):
        opening = Opening(None, tuple(player.opening_moves(settings.seed, number)))
        if opening.moves and opening not in known:
            known.add(opening)
            openings.append(opening)
        if len(openings) == count:
            break
    else:
        raise MatchError(f"there are only {len(openings)} different balanced openings of {plies} plies; give more")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{opening}\n" for opening in openings), encoding="utf-8")
    return openings
