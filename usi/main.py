"""The command `narikin`: without arguments the USI engine, otherwise one of the tools in usi/commands/."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

DEBUG_VARIABLE = "NARIKIN_DEBUG"
TUNING = "--tuning"
DESCRIPTION = (
    "USI shogi engine. Without arguments it speaks USI with a GUI; with --tuning alone it does the same and declares "
    "every number of the search as an option, for tuners."
)
BAD_INPUT, INTERRUPTED = 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the script; the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words in ([], [TUNING]):
        from usi.session import run_stdio

        return run_stdio(tuning=bool(words))
    return run_tool(words)


def run_tool(words: Sequence[str]) -> int:
    """Run a tool; whatever goes wrong is one line on stderr and an exit code that is not 0."""
    survive_any_code_page()
    try:
        arguments = make_parser(words).parse_args(words)
        return int(arguments.run(arguments))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # `narikin ... | head`: the rest of the output goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        print(f"narikin: error: {explain(error)}", file=sys.stderr)
        return BAD_INPUT


def survive_any_code_page() -> None:
    """A Windows console may not know a character; a `?` is better than a crash."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def explain(error: Exception) -> str:
    """One line for the user: the text of an expected error, or where an unexpected one came from."""
    text = " ".join(str(error).split())
    if isinstance(error, ValueError | OSError) and text:
        return text
    return f"{type(error).__name__}: {text} (a bug; {DEBUG_VARIABLE}=1 shows where)"


def make_parser(words: Sequence[str]) -> Any:
    """The parser for a command line. Only the module of the command that is called is imported."""
    import argparse
    import importlib

    from usi import __version__, commands

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> Any:
            self.exit(BAD_INPUT, f"{self.prog}: error: {' '.join(message.split())} ({self.prog} --help)\n")

    parser = Parser(prog="narikin", description=DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"Narikin {__version__}")
    names = commands.names()
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    called = next((word for word in words if not word.startswith("-")), None)
    for name in names:
        if name == called:
            module = importlib.import_module(f"usi.commands.{name}")
            module.add_parser(subparsers)
            subparsers.choices[name].set_defaults(run=module.run)
        else:
            subparsers.add_parser(name, help=commands.summary(name))
    return parser


if __name__ == "__main__":
    sys.exit(main())
