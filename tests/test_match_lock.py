"""Two matches never play in one folder; a killed one leaves it free."""

from __future__ import annotations

import subprocess
import sys

import pytest

from usi.main import main
from usi.match.config import MatchError
from usi.match.lock import NAME, locked

HOLDER = """
import sys, time
from pathlib import Path
from usi.match.lock import locked
with locked(Path(sys.argv[1])):
    print("locked", flush=True)
    time.sleep(60)
"""


def test_a_second_match_is_refused_and_a_killed_one_leaves_the_folder_free(tmp_path, capsys):
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        words = ["match", "--engine", "cmd=a", "--engine", "cmd=b", "--out", str(tmp_path)]
        assert main(words) == 2
        assert "another `narikin match` is playing" in capsys.readouterr().err
        assert [path.name for path in tmp_path.iterdir()] == [NAME]
    finally:
        holder.kill()
        holder.communicate()
    with locked(tmp_path):
        assert (tmp_path / NAME).exists()
    assert not list(tmp_path.iterdir())


def test_an_error_frees_the_folder(tmp_path):
    folder = tmp_path / "new"
    for _ in range(2):
        with pytest.raises(ValueError, match="stop"), locked(folder):
            raise ValueError("stop")
        assert not folder.exists()
    with locked(folder), pytest.raises(MatchError), locked(folder):
        pass
