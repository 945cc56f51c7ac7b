"""Where compiled code is kept.

numba keys its cache by each function's own file only, so a change in one file can leave stale machine code
in a caller from another. The folder therefore carries a digest of every source that holds jitted code, of
numba's version and of the CPU choice: any change means a new folder and old code is never run.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from importlib import metadata
from pathlib import Path

PACKAGE_ROOT = Path(__file__).resolve().parent.parent.parent
JITTED_FOLDERS = ("engine", "eval")
CACHE_VARIABLE = "NARIKIN_CACHE_DIR"


def source_digest() -> str:
    """Hex digest of all jitted sources and of the versions that decide what they compile to."""
    digest = hashlib.blake2b(digest_size=10)
    for package in ("numba", "llvmlite", "numpy"):
        digest.update(f"{package}={metadata.version(package)};".encode())
    digest.update(f"python={sys.version_info[:3]};cpu={os.environ.get('NUMBA_CPU_NAME', '')}".encode())
    for folder in JITTED_FOLDERS:
        for path in sorted((PACKAGE_ROOT / folder).rglob("*.py")):
            digest.update(path.relative_to(PACKAGE_ROOT).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def candidate_folders() -> list[Path]:
    """Folders to try for compiled code, best first."""
    candidates = []
    if os.environ.get(CACHE_VARIABLE):
        candidates.append(Path(os.environ[CACHE_VARIABLE]))
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        if local:
            candidates.append(Path(local) / "narikin" / "cache")
    elif sys.platform == "darwin":
        candidates.append(Path(os.path.expanduser("~/Library/Caches/narikin")))
    candidates.append(Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "narikin")
    candidates.append(Path(tempfile.gettempdir()) / f"narikin-{_user_tag()}")
    return candidates


def _user_tag() -> str:
    """A name that keeps the users of one machine apart in a shared temporary folder."""
    if hasattr(os, "getuid"):
        return str(os.getuid())
    return os.environ.get("USERNAME", "user")


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def choose_cache_folder() -> Path | None:
    """The first writable candidate with this version's digest, or None: then nothing is kept."""
    digest = source_digest()
    for candidate in candidate_folders():
        folder = candidate / digest
        if _writable(folder):
            return folder
    return None


CACHE_FOLDER = choose_cache_folder()
if CACHE_FOLDER is not None:
    os.environ["NUMBA_CACHE_DIR"] = str(CACHE_FOLDER)
