"""The folder of compiled code: never stale, never in the way.

Each run is a process of its own on a small copy of the project: the real engine/native files and two probe modules,
a helper in one file that is inlined into kernels of another, which is where numba alone would run stale code.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.native import cache

HELPER = """
from numba import int64
from engine.native.jit import inline

@inline
def step(x):
    return x + int64({step})
"""
KERNELS = """
from numba import int64
from engine.native.jit import kernel
from engine.probe.helper import step

@kernel()
def first(x):
    return step(x)

@kernel()
def second(x):
    return step(step(x))
"""
RUN = """
import json, os, sys
sys.path.insert(0, {site!r})
import tempfile
tempfile.tempdir = {temporary!r}
from engine.probe import kernels
from engine.native.cache import CACHE_FOLDER
values = [kernels.first(10)]
if {die}:
    os._exit(9)
values.append(kernels.second(10))
print(json.dumps({{
    "values": values,
    "hits": sum(sum(k.stats.cache_hits.values()) for k in (kernels.first, kernels.second)),
    "folder": CACHE_FOLDER and str(CACHE_FOLDER),
}}))
"""


class Installation:
    """A small installed Narikin in a folder of its own, run in processes with a chosen environment."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.site = root / "site"
        self.temporary: Path = root / "tmp"
        self.environment = {**os.environ, "HOME": str(root / "home"), "PYTHONDONTWRITEBYTECODE": "1"}
        for name in ("NARIKIN_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
            self.environment.pop(name, None)
        self.environment["LOCALAPPDATA"] = self.environment["USERPROFILE"] = str(root / "home")
        for folder in (root / "home", self.temporary, self.site / "eval", self.site / "engine" / "probe"):
            folder.mkdir(parents=True)
        source = Path(cache.__file__).parent
        (self.site / "engine" / "native").mkdir()
        for name in ("__init__.py", "cache.py", "jit.py"):
            shutil.copy(source / name, self.site / "engine" / "native" / name)
        for package in ("engine", "engine/probe", "eval"):  # a namespace package would lose against an installed one
            (self.site / package / "__init__.py").touch()
        (self.site / "engine" / "probe" / "kernels.py").write_text(KERNELS)
        self.write_helper(1)

    def write_helper(self, step: int) -> None:
        (self.site / "engine" / "probe" / "helper.py").write_text(HELPER.format(step=step))

    def start(self, die: bool = False) -> subprocess.Popen[str]:
        script = RUN.format(site=str(self.site), temporary=str(self.temporary), die=die)
        return subprocess.Popen(
            [sys.executable, "-c", script],
            env=self.environment,
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, die: bool = False) -> dict[str, Any]:
        return self.result(self.start(die), 9 if die else 0)

    @staticmethod
    def result(process: subprocess.Popen[str], code: int = 0) -> dict[str, Any]:
        output, errors = process.communicate(timeout=120)
        assert process.returncode == code, errors
        return json.loads(output) if output else {}

    def files(self) -> set[Path]:
        return set(self.site.rglob("*"))

    def nowhere(self) -> str:
        """A path that not even root can create: below a file."""
        blocker = self.root / "file"
        blocker.write_text("")
        return str(blocker / "folder")


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    return Installation(tmp_path)


def test_compiled_code_is_found_again_and_never_runs_stale(installation: Installation) -> None:
    first = installation.run()
    assert (first["values"], first["hits"]) == ([11, 12], 0)
    again = installation.run()
    assert (again["values"], again["hits"], again["folder"]) == ([11, 12], 2, first["folder"])
    installation.write_helper(5)
    changed = installation.run()
    assert (changed["values"], changed["hits"]) == ([15, 20], 0)
    installation.write_helper(1)
    assert installation.run()["hits"] == 2, "the earlier version's code is still there"


def test_a_cache_folder_in_the_environment_does_not_replace_the_digest(installation: Installation) -> None:
    installation.environment["NUMBA_CACHE_DIR"] = str(installation.root / "shared")
    installation.run()
    installation.write_helper(2)
    assert installation.run()["values"] == [12, 14]
    assert not (installation.root / "shared").exists()


def test_a_read_only_installation_works_and_is_left_alone(installation: Installation) -> None:
    before = installation.files()
    for path in sorted(before, reverse=True):
        path.chmod(0o555 if path.is_dir() else 0o444)
    installation.site.chmod(0o555)
    try:
        assert installation.run()["values"] == [11, 12]
        assert installation.run()["hits"] == 2
        assert installation.files() == before
    finally:
        installation.site.chmod(0o755)
        for path in sorted(before):
            path.chmod(0o755)


def test_a_home_without_write_access_uses_the_temporary_folder(installation: Installation) -> None:
    nowhere = installation.nowhere()
    installation.environment.update(HOME=nowhere, USERPROFILE=nowhere, LOCALAPPDATA=nowhere)
    result = installation.run()
    assert result["values"] == [11, 12]
    assert Path(result["folder"]).is_relative_to(installation.temporary)
    assert installation.run()["hits"] == 2


def test_without_any_writable_folder_everything_compiles_anew(installation: Installation) -> None:
    nowhere = installation.nowhere()
    installation.environment.update(HOME=nowhere, USERPROFILE=nowhere, LOCALAPPDATA=nowhere)
    installation.temporary = Path(nowhere)
    before = installation.files()
    result = installation.run()
    assert (result["values"], result["hits"], result["folder"]) == ([11, 12], 0, None)
    assert installation.files() == before


def test_what_was_compiled_before_a_kill_is_kept(installation: Installation) -> None:
    installation.run(die=True)
    result = installation.run()
    assert (result["values"], result["hits"]) == ([11, 12], 1)


def test_an_entry_whose_code_was_never_written_is_compiled_again(installation: Installation) -> None:
    folder = Path(installation.run()["folder"])
    for code in folder.rglob("*first*.nbc"):
        code.unlink()
    result = installation.run()
    assert (result["values"], result["hits"]) == ([11, 12], 1)


def test_two_processes_may_start_at_once(installation: Installation) -> None:
    processes = [installation.start(), installation.start()]
    assert [installation.result(process)["values"] for process in processes] == [[11, 12], [11, 12]]
    assert installation.run()["hits"] == 2


def test_the_digest_follows_sources_and_versions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "engine").mkdir()
    source = tmp_path / "engine" / "a.py"
    source.write_text("x = 1\n")
    monkeypatch.setattr(cache, "PACKAGE_ROOT", tmp_path)
    digests = [cache.source_digest()]
    source.write_text("x = 2\n")
    digests.append(cache.source_digest())
    source.rename(tmp_path / "engine" / "b.py")
    digests.append(cache.source_digest())
    monkeypatch.setattr(cache, "_version_text", lambda package, file_name: b"another version")
    digests.append(cache.source_digest())
    assert len(set(digests)) == 4
    assert cache.source_digest() == digests[-1]


def folder_used_at(base: Path, name: str, time: int) -> Path:
    folder = base / name
    folder.mkdir()
    (folder / "code.nbc").write_text("")
    (folder / cache.LOCK_NAME).write_text("")
    os.utime(folder / cache.LOCK_NAME, (time, time))
    return folder


def test_old_folders_are_deleted_unless_recent_or_in_use(tmp_path: Path) -> None:
    names = [f"{number:020x}" for number in range(cache.KEEP_FOLDERS + 4)]
    folders = [folder_used_at(tmp_path, name, 1_000_000 + number) for number, name in enumerate(names)]
    stranger = folder_used_at(tmp_path, "not-a-digest", 1)
    current, held = folders[0], folders[1]
    with open(held / cache.LOCK_NAME, "ab") as mark:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(mark, fcntl.LOCK_SH)
        cache.clean_up(tmp_path, current.name)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {current.name, held.name, stranger.name, *names[-cache.KEEP_FOLDERS :]}
    cache.clean_up(tmp_path, current.name)
    assert not held.exists(), "nobody uses it any more"


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="ownership is checked where users have numbers")
def test_a_folder_that_others_can_write_is_not_trusted(tmp_path: Path) -> None:
    open_folder = tmp_path / "open"
    open_folder.mkdir()
    assert cache._usable(open_folder)
    open_folder.chmod(0o777)
    assert not cache._usable(open_folder)
