"""README and the program say the same."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from usi.commands import names
from usi.main import make_parser
from usi.options import OPTIONS

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def table_rows(title: str) -> list[list[str]]:
    lines = [line for line in section(title).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_option_is_described_with_its_default() -> None:
    defaults = {}
    for row in table_rows("Options"):
        option_names, values = row[0].split(", "), row[1].split(", ")
        for number, name in enumerate(option_names):
            defaults[name] = values[min(number, len(values) - 1)]
    assert set(defaults) == {option.name for option in OPTIONS}
    words = {"on": "true", "off": "false"}
    for option in OPTIONS:
        assert words.get(defaults[option.name], defaults[option.name]) == (option.default or ""), option.name


def test_every_tool_has_an_example_that_parses() -> None:
    examples = re.findall(r"`narikin ([a-z]+)([^`]*)`", section("Tools"))
    assert set(names()) <= {name for name, _ in examples}
    for name, rest in examples:
        words = [name, *shlex.split(rest)]
        make_parser(words).parse_args(words)


def test_set_up_is_one_line_each() -> None:
    commands = [line for line in README.splitlines() if line.startswith("python3 -m venv")]
    assert len(commands) == 2
    assert commands[0].endswith("narikin analyse startpos --depth 12")
    assert commands[1].endswith("python -m pytest")


@pytest.mark.parametrize(
    "folder", ["engine/native", "engine/rules", "engine/search", "eval", "usi", "scripts", "tests"]
)
def test_the_house_names_folders_that_exist(folder: str) -> None:
    assert f"`{folder}`" in section("The house")
    assert (ROOT / folder).is_dir()
