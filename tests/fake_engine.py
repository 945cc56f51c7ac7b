"""An engine for tests of the session: it searches nothing, does what its script says and notes what was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable

from engine.search.limits import Info, Limits, Result

Report = Callable[[Info], None]
Done = Callable[[Result], None]


class FakeEngine:
    """Ends a search at once when it has a limit, else when stopped; set `think` for anything else."""

    def __init__(self, variant: str = "shogi", threads: int = 1) -> None:
        self.calls: list[tuple] = [("engine", variant, threads)]
        self.stopped = threading.Event()
        self.hit = threading.Event()
        self.finished = threading.Event()  # the search has told its result
        self.result = Result("7g7f", "3c3d", score_cp=30)
        self.infos = [Info(depth=1, nodes=30, score_cp=30, pv=["7g7f", "3c3d"])]
        self.endless = False  # search until stopped, whatever the limits
        self.think: Callable[[Limits, Report, Done], None] = self.think_plainly
        self.searches = 0

    def called(self, name: str) -> list[tuple]:
        """The calls of one method, in order."""
        return [call[1:] for call in self.calls if call[0] == name]

    def set_option(self, name: str, value: object) -> str | None:
        self.calls.append(("set_option", name, value))
        if name == "eval_file" and value:
            raise ValueError(f"no network file {value}")
        return "hash cut down to 512 MB" if name == "hash_mb" and value == 1024 else None

    def new_game(self) -> None:
        self.calls.append(("new_game",))

    def set_position(self, sfen: str | None, moves: list[str]) -> None:
        self.calls.append(("set_position", sfen, tuple(moves)))
        for move in moves:
            if move == "1a1b":
                raise ValueError(f"illegal move {move!r}")
        if sfen is not None and "x" in sfen:
            raise ValueError("unknown piece 'x'")

    def go(self, limits: Limits, on_info: Report, on_done: Done) -> None:
        self.calls.append(("go", limits))
        self.searches += 1
        self.stopped.clear()
        self.hit.clear()
        self.finished.clear()
        threading.Thread(target=self._run, args=(limits, on_info, on_done), daemon=True).start()

    def _run(self, limits: Limits, on_info: Report, on_done: Done) -> None:
        self.think(limits, on_info, on_done)
        self.finished.set()

    def think_plainly(self, limits: Limits, on_info: Report, on_done: Done) -> None:
        for info in self.infos:
            on_info(info)
        if self.endless:
            self.stopped.wait()
        on_done(self.result)

    def stop(self) -> None:
        self.calls.append(("stop",))
        self.stopped.set()

    def ponderhit(self, limits: Limits | None) -> None:
        self.calls.append(("ponderhit", limits))
        self.hit.set()
        self.stopped.set()
