"""Where compiled code is kept.

numba keys its cache by each function's own file only, so a change in one file can leave stale machine code
in a caller from another. The folder therefore carries a digest of every source that holds jitted code and of
the versions of Python, numba, llvmlite and numpy: any change means a new folder and old code is never run.
(The CPU is part of numba's own key, so machines that share a home folder do not get each other's code.)

Importing this module chooses the folder and tells numba. `NARIKIN_CACHE_DIR` overrides the place.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import IO

PACKAGE_ROOT = Path(__file__).resolve().parent.parent.parent
JITTED_FOLDERS = ("engine", "eval")
VERSION_FILES = (("numba", "_version.py"), ("llvmlite", "_version.py"), ("numpy", "version.py"))
CACHE_VARIABLE = "NARIKIN_CACHE_DIR"
LOCK_NAME = "in-use"
KEEP_FOLDERS = 3  # old folders to keep: people switch between a release and a working copy
FREE_BYTES = 200 << 20  # a fuller disk is left alone: a half-written cache would stop the engine
DIGEST_NAME = re.compile(r"[0-9a-f]{20}\Z")


def source_digest() -> str:
    """Hex digest of all jitted sources and of the versions that decide what they compile to."""
    digest = hashlib.blake2b(digest_size=10)
    digest.update(sys.version.encode())
    for package, file_name in VERSION_FILES:
        digest.update(_version_text(package, file_name))
    for folder in JITTED_FOLDERS:
        for path in sorted((PACKAGE_ROOT / folder).rglob("*.py")):
            text = path.read_bytes()
            digest.update(f"{path.relative_to(PACKAGE_ROOT).as_posix()}:{len(text)}:".encode())
            digest.update(text)
    return digest.hexdigest()


def _version_text(package: str, file_name: str) -> bytes:
    """The file in which a package keeps its version; reading it is far quicker than importing the package."""
    spec = find_spec(package)
    if spec is None or not spec.origin:
        raise ModuleNotFoundError(f"Narikin needs the package {package}", name=package)
    path = Path(spec.origin).with_name(file_name)
    return path.read_bytes() if path.exists() else Path(spec.origin).read_bytes()


def candidate_folders() -> list[Path]:
    """Folders to try for compiled code, best first."""
    candidates = []
    if os.environ.get(CACHE_VARIABLE):
        candidates.append(Path(os.environ[CACHE_VARIABLE]).absolute())
    if sys.platform == "win32" and os.environ.get("LOCALAPPDATA"):
        candidates.append(Path(os.environ["LOCALAPPDATA"]) / "narikin" / "cache")
    home = os.path.expanduser("~")
    if os.path.isabs(home):  # it stays "~" for a user that the system does not know
        if sys.platform == "darwin":
            candidates.append(Path(home) / "Library" / "Caches" / "narikin")
        candidates.append(Path(os.environ.get("XDG_CACHE_HOME") or Path(home) / ".cache") / "narikin")
    with contextlib.suppress(OSError):  # there may be no temporary folder either
        candidates.append(Path(tempfile.gettempdir()) / f"narikin-{_user_tag()}")
    return candidates


def _user_tag() -> str:
    """A name that keeps the users of one machine apart in a shared temporary folder."""
    if hasattr(os, "getuid"):
        return str(os.getuid())
    return os.environ.get("USERNAME", "user")


def _usable(folder: Path) -> bool:
    """True if the folder can be made, written, has room, and nobody else can put code into it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if hasattr(os, "getuid") and not (_is_private(folder.stat()) and _keeps_names(folder.parent.stat())):
            return False
        with tempfile.TemporaryFile(dir=folder):
            return shutil.disk_usage(folder).free >= FREE_BYTES
    except OSError:
        return False


def _is_private(status: os.stat_result) -> bool:
    return status.st_uid == os.getuid() and not status.st_mode & stat.S_IWOTH


def _keeps_names(status: os.stat_result) -> bool:
    """True if strangers cannot replace what this user has in the folder."""
    sticky_or_closed = bool(status.st_mode & stat.S_ISVTX) or not status.st_mode & stat.S_IWOTH
    return status.st_uid in (0, os.getuid()) and sticky_or_closed


def _hold(folder: Path) -> IO[bytes] | None:
    """Mark a folder as used by this process until it ends, or None if someone is just deleting it.

    Windows refuses to delete an open file; elsewhere a shared lock says the same.
    """
    try:
        handle = open(folder / LOCK_NAME, "ab")  # noqa: SIM115  (stays open on purpose)
        os.utime(folder / LOCK_NAME)
    except OSError:
        return None
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.close()
            return None
        except OSError:  # a file system without locks
            pass
    return handle


def _delete_unless_used(folder: Path) -> None:
    """Remove a folder of compiled code, unless a process holds it."""
    lock = folder / LOCK_NAME
    try:
        if sys.platform == "win32":
            lock.unlink(missing_ok=True)
        elif lock.exists():
            import fcntl

            with open(lock, "ab") as handle:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            return
        shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        return


def _last_use(folder: Path) -> float:
    try:
        return (folder / LOCK_NAME).stat().st_mtime
    except OSError:
        return 0.0


def clean_up(base: Path, current: str) -> None:
    """Delete the folders of other digests in `base`, but for the last few used and those in use."""
    others = [path for path in base.iterdir() if DIGEST_NAME.match(path.name) and path.name != current]
    for folder in sorted(others, key=_last_use, reverse=True)[KEEP_FOLDERS:]:
        _delete_unless_used(folder)


def choose_cache_folder() -> tuple[Path, IO[bytes]] | None:
    """The first usable candidate with this version's digest and its mark, or None: then nothing is kept."""
    digest = source_digest()
    for candidate in candidate_folders():
        folder = candidate / digest
        is_new = not folder.exists()
        if not _usable(folder):
            continue
        mark = _hold(folder)
        if mark is not None:
            if is_new:
                clean_up(candidate, digest)
            return folder, mark
    return None


def _tell_numba(folder: Path) -> None:
    """Point numba at the folder, whether it is already imported or not."""
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    if "numba" in sys.modules:
        import numba

        numba.config.CACHE_DIR = str(folder)


_CHOICE = choose_cache_folder()
CACHE_FOLDER = _CHOICE[0] if _CHOICE else None
if CACHE_FOLDER is not None:
    _tell_numba(CACHE_FOLDER)
