"""Work on a Dask cluster: the machines of a lab, found through a scheduler's address such as tcp://10.0.0.1:8786.

Every worker machine needs Narikin installed, and what a job names (engines, networks) under the same paths.
Start one with `dask scheduler` here and `dask worker tcp://ADDRESS:8786 --nworkers auto` there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

CONNECT_TIMEOUT = 20.0  # seconds
RETRIES = 3  # of an item whose worker was lost
QUEUED_PER_THREAD = 2  # items handed out ahead, so that no worker waits for the network


class ClusterError(ValueError):
    """The cluster cannot be used; the text says why."""


def connect(address: str) -> Any:
    """A client of the scheduler. Raises ClusterError."""
    try:
        import distributed
    except ImportError:
        raise ClusterError('a cluster needs dask.distributed: pip install "narikin[cluster]"') from None
    try:
        return distributed.Client(address, timeout=CONNECT_TIMEOUT)
    except (OSError, ValueError) as error:
        raise ClusterError(f"no Dask scheduler answers at {address!r}: {error}") from None


def run_on_cluster(
    address: str, work: Callable[[Item], Result], items: Iterable[Item], stop: threading.Event
) -> Iterator[Result]:
    """`work` of every item on the cluster's workers, in the order of completion; `stop` gives up what is unfinished.

    `work` and the items are pickled. What `work` raises is raised here.
    """
    client = connect(address)  # first, because it says what to install
    import distributed

    try:
        waiting = iter(items)
        running = distributed.as_completed(with_results=False, loop=client.loop)

        def hand_out() -> bool:
            item = next(waiting, stop)
            if item is stop:
                return False
            running.add(client.submit(work, item, pure=False, retries=RETRIES))
            return True

        for _ in range(QUEUED_PER_THREAD * max(1, sum(client.nthreads().values()))):
            if not hand_out():
                break
        while not running.is_empty() and not stop.is_set():
            for future in running.next_batch(block=False) or _wait(running, stop):
                hand_out()
                yield future.result()
    finally:
        client.close()


def _wait(running: Any, stop: threading.Event) -> list[Any]:
    """The next finished item, or nothing when `stop` was set meanwhile."""
    while not stop.wait(0.1):
        batch = list(running.next_batch(block=False))
        if batch:
            return batch
    return []
