"""Print the path of the program that a GUI has to be given."""

from __future__ import annotations

import argparse
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Any


def add_parser(subparsers: Any) -> None:
    """`narikin where`."""
    subparsers.add_parser("where", help="print the path to register in a GUI", description=__doc__)


def run(arguments: argparse.Namespace) -> int:
    """Print the path."""
    print(program_path())
    return 0


def program_path() -> Path:
    """The executable of this installation. Raises FileNotFoundError if Narikin runs without being installed."""
    name = "narikin.exe" if sys.platform == "win32" else "narikin"
    called = Path(sys.argv[0])
    candidates = [called] if called.stem == "narikin" else []
    candidates += [Path(sys.executable).parent / name, Path(sysconfig.get_path("scripts")) / name]
    for candidate in candidates:
        program = candidate if candidate.suffix == ".exe" or sys.platform != "win32" else candidate.with_suffix(".exe")
        if program.is_file():
            return program.absolute()
    found = shutil.which(name)
    if found:
        return Path(found).absolute()
    install = f"{sys.executable} -m pip install ."
    raise FileNotFoundError(f"no program {name} is installed; in the folder of Narikin run: {install}")
