"""What numba made of the kernels: no float has crept into integer code, nothing hot counts references.

Everything is compiled afresh in one process without the cache (at a low optimisation level, which is quicker),
because code loaded from the cache no longer knows its types.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROBE = """
import gc, importlib, json, pkgutil
import engine.native.cache
engine.native.cache.CACHE_FOLDER = None
import numba
from numba.core.ccallback import CFunc
from numba.core.dispatcher import Dispatcher
import engine, eval

for package in (engine, eval):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.startswith("eval.learn"):
            importlib.import_module(module.name)

from eval.nnue import Shape, compile_evaluation
shape = Shape(planes=81, numbers=1548, width=256, outputs_1=32, hidden_1=32, hidden_2=32, stacks=1)
network = compile_evaluation(shape)

def findings(function):
    words = set()
    for result in function.overloads.values():
        if any("float" in str(kind) for kind in result.type_annotation.typemap.values()):
            words.add("float")
        words.update(in_code(result.library.get_llvm_str()))
    return sorted(words)

def in_code(text):
    words = (".numba.unresolved", "NRT_incref", "NRT_decref", "double")
    return [word for word in words if " " + word in text or "@" + word in text]

report = {}
for thing in gc.get_objects():
    if isinstance(thing, Dispatcher):
        function = thing.py_func
        if function.__module__.split(".")[0] in ("engine", "eval"):
            report[f"{function.__module__}.{function.__name__}"] = {
                "helper": bool(thing.targetoptions.get("forceinline")),
                "compiled": len(thing.overloads),
                "found": findings(thing),
            }
    elif isinstance(thing, CFunc) and thing._pyfunc.__module__.split(".")[0] in ("engine", "eval"):
        name = f"{thing._pyfunc.__module__}.{thing._pyfunc.__name__}"
        report[name] = {"helper": False, "compiled": 1, "found": in_code(thing.inspect_llvm())}
print(json.dumps(report))
"""

MAY_USE_FLOATS: set[str] = set()
MAY_COUNT_REFERENCES = {"eval.network_file.decode_leb128"}
"""Kernels that are called once, not in the search, and take arrays."""


@pytest.fixture(scope="module")
def report() -> dict[str, dict[str, Any]]:
    root = Path(__file__).resolve().parent.parent
    environment = {**os.environ, "NUMBA_OPT": "1"}
    process = subprocess.run(
        [sys.executable, "-c", PROBE], cwd=root, env=environment, capture_output=True, text=True, timeout=900
    )
    assert process.returncode == 0, process.stderr
    return dict(json.loads(process.stdout))


def having(report: dict[str, dict[str, Any]], *words: str) -> set[str]:
    return {name for name, entry in report.items() if set(words) & set(entry["found"])}


def test_every_kernel_is_compiled_from_its_signature(report: dict[str, dict[str, Any]]) -> None:
    assert len(report) > 100
    assert {name for name, entry in report.items() if not entry["helper"] and not entry["compiled"]} == set()


def test_no_float_in_integer_kernels(report: dict[str, dict[str, Any]]) -> None:
    assert having(report, "float", "double") <= MAY_USE_FLOATS


def test_no_reference_counting_in_hot_code(report: dict[str, dict[str, Any]]) -> None:
    assert having(report, "NRT_incref", "NRT_decref") <= MAY_COUNT_REFERENCES


def test_recursive_kernels_have_no_unresolved_calls(report: dict[str, dict[str, Any]]) -> None:
    assert having(report, ".numba.unresolved") == set()


def test_the_probe_sees_the_traps() -> None:
    probe = PROBE.split("for package")[0] + "from numba import njit, uint64, int64\n"
    probe += PROBE[PROBE.index("def findings") : PROBE.index("report = {}")]
    probe += """
import numpy as np

@njit
def mixes(x):
    y = 0
    if x > 3:
        y = uint64(x)
    return y

@njit
def counts(values):
    return [values, values]

mixes(5)
counts(np.zeros(3))
print(json.dumps([findings(mixes), findings(counts)]))
"""
    root = Path(__file__).resolve().parent.parent
    process = subprocess.run([sys.executable, "-c", probe], cwd=root, capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stderr
    mixes, counts = json.loads(process.stdout)
    assert "float" in mixes
    assert {"NRT_incref", "NRT_decref"} & set(counts)
