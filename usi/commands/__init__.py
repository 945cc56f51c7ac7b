"""The tools of `narikin`, one module a command.

A module NAME.py here is the command NAME. Its docstring's first line is the summary in `narikin --help`; it has
`add_parser(subparsers)`, which adds its argument parser under that name, and `run(arguments) -> int`, the exit code.
Whatever is wrong with the user's input is raised as ValueError or OSError with a text for the user.
Modules whose name begins with an underscore help the others.
"""

from __future__ import annotations

import ast
import importlib.util
import pkgutil
from importlib.abc import InspectLoader


def names() -> list[str]:
    """The commands there are."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def summary(name: str) -> str:
    """First line of a command's docstring, read without running the module."""
    spec = importlib.util.find_spec(f"{__name__}.{name}")
    loader = spec.loader if spec else None
    source = loader.get_source(f"{__name__}.{name}") if isinstance(loader, InspectLoader) else None
    text = ast.get_docstring(ast.parse(source)) if source else None
    return (text or "").partition("\n")[0].rstrip(".").replace("%", "%%")
