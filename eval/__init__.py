"""What a position is worth: a network or the handcrafted evaluation, behind one door.

    evaluation = load_evaluation(None, "shogi")   # the shipped network, or the handcrafted evaluation if there is none
    evaluation.attach(C)                          # SHARED: what the search calls
    memory = evaluation.new_thread(P)             # POSITION: this thread's accumulators; keep `memory` as long as P

Importing this package loads no compiled code; loading an evaluation does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HANDCRAFTED = "handcrafted"
NETS = Path(__file__).resolve().parent / "nets"


@dataclass
class Evaluation:
    """An evaluation ready for one variant. It must outlive every search that uses it.

    `score` and the search see units of the evaluation (a pawn is about 100); `pawn` says how many of them a printed
    pawn has.
    """

    name: str  # "handcrafted", or features and sizes of the network
    description: str  # one line for people
    variant: str
    address: int  # of `int64 f(position, tables, shared)`, all arguments addresses
    tables: Any  # the TABLES record it was made for
    call: Callable[[int, int, int], int] = field(repr=False)  # the same function for Python
    network: Any = field(default=None, repr=False)  # eval.nnue.NetworkEvaluation, None for the handcrafted one
    pawn: int = 100

    def attach(self, shared: Any) -> None:
        """Make a SHARED record call this evaluation."""
        shared["evaluate"] = self.address
        shared["network"] = 0
        if self.network is not None:
            self.network.attach(shared)

    def new_thread(self, position: Any) -> Any:
        """Give a POSITION record what it needs to be evaluated; keep the result as long as the record is used."""
        if self.network is None:
            position["accumulators"] = 0
            return None
        memory = self.network.new_memory()
        position["accumulators"] = memory.ctypes.data
        return memory

    def score(self, position: Any) -> int:
        """Score of a POSITION record (through `new_thread` before) for the side to move."""
        from engine.rules.layout import SHARED, new_record, record_address

        shared = new_record(SHARED)
        self.attach(shared)
        return self.call(record_address(position), record_address(self.tables), record_address(shared))

    def centipawns(self, score: int) -> int:
        """A score as it is printed, rounded towards zero."""
        return int(score * 100 / self.pawn)


def shipped_network(variant: str) -> Path | None:
    """The network that comes with the package for a variant, if there is one."""
    path = NETS / f"{variant}.nnue"
    return path if path.is_file() else None


def load_evaluation(path: str | Path | None, variant: str, fv_scale: int | None = None) -> Evaluation:
    """Load a network file, the nn.bin of a folder, or (None) what comes with the package.

    `fv_scale` None or 0 takes what the file says, else 16, or 28 for stacked networks (SFNN). The path "handcrafted"
    asks for the evaluation without a network, which also stands in where no network is shipped. Raises
    eval.network_file.NetworkError, a ValueError whose text says what was found and what is wanted, if a given file
    cannot be used.
    """
    if path is None:
        path = shipped_network(variant) or HANDCRAFTED
    if str(path) == HANDCRAFTED:
        return handcrafted_evaluation(variant)
    from eval.network_file import network_path, read_network

    path = network_path(path)
    return network_evaluation(read_network(path), variant, fv_scale, str(path))


def network_evaluation(network: Any, variant: str, fv_scale: int | None = None, origin: str = "memory") -> Evaluation:
    """An evaluation by an eval.network_file.Network that is already in memory; see `load_evaluation`."""
    from engine.rules.tables import variant_tables
    from eval import handcrafted
    from eval.network_file import NetworkError
    from eval.nnue import NetworkEvaluation

    if network.variant != variant:
        raise NetworkError(f"{origin}: found a network for {network.variant}, wanted one for {variant}")
    tables = variant_tables(variant)
    handcrafted.fill(tables)
    ready = NetworkEvaluation(network, tables, fv_scale)
    description = f"{network.name}, FV_SCALE {ready.fv_scale}, {Path(origin).name}"
    if network.notes:
        description += f" ({'; '.join(network.notes)})"
    return Evaluation(network.name, description, variant, ready.address, tables, ready.call, ready)


def handcrafted_evaluation(variant: str) -> Evaluation:
    """The evaluation without a network."""
    from engine.rules.tables import variant_tables
    from eval import handcrafted

    tables = variant_tables(variant)
    handcrafted.fill(tables)
    address = handcrafted.evaluation_address()
    return Evaluation(HANDCRAFTED, "handcrafted terms", variant, address, tables, handcrafted.evaluate.ctypes)
