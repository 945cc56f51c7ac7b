"""Every number of the search in one table: what it means, where it starts and how far a tuner may move it.

Values are centipawns (pawn = 100), plies, or history points, as the meaning says. Starting values follow what chess
and shogi engines publish, scaled to this evaluation. `PARAMETERS` is the record jitted code reads, so a changed
value needs no compilation: `Engine.set_option("parameter.NAME", value)` and scripts/ablation.py use that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Parameter:
    """One number: its start, the range a tuner may try and the step it starts with."""

    name: str
    value: int
    low: int
    high: int
    step: int
    meaning: str


def _p(name: str, value: int, low: int, high: int, step: int, meaning: str) -> Parameter:
    return Parameter(name, value, low, high, step, meaning)


PARAMETER_TABLE: tuple[Parameter, ...] = (
    # aspiration
    _p("aspiration_width", 67, 5, 80, 5, "half width of the first window around the last score, cp"),
    _p("aspiration_depth", 4, 1, 8, 1, "first iteration that searches a narrow window, plies"),
    # pruning of whole nodes
    _p("razor_base", 226, 100, 800, 40, "razoring: cp below alpha that send a node at depth 0 to quiescence"),
    _p("razor_slope", 405, 50, 500, 30, "razoring: more cp for each squared ply of depth"),
    _p("reverse_depth", 9, 3, 14, 1, "reverse futility: deepest depth"),
    _p("reverse_slope", 73, 30, 250, 15, "reverse futility: cp above beta needed for each ply of depth"),
    _p("reverse_improving", 68, 0, 200, 15, "reverse futility: cp less when the side to move is improving"),
    _p("null_base", 5, 2, 6, 1, "null move: plies of reduction at depth 0"),
    _p("null_divisor", 3, 2, 6, 1, "null move: depth divided by this is added to the reduction"),
    _p("null_eval_divisor", 261, 80, 500, 30, "null move: cp above beta for one more ply of reduction"),
    _p("null_margin_slope", 6, 0, 50, 4, "null move: static evaluation may be this many cp per ply below beta"),
    _p("null_margin_base", 149, 0, 400, 30, "null move: minus this many cp"),
    _p("null_verify_depth", 14, 8, 24, 1, "null move: from this depth on a cut-off is verified by a reduced search"),
    _p("internal_depth", 2, 2, 10, 1, "internal iterative reduction: least depth of a node without a hash move"),
    _p("probcut_margin", 121, 60, 400, 25, "ProbCut: cp above beta"),
    _p("probcut_improving", 33, 0, 150, 15, "ProbCut: cp less when improving"),
    # pruning of moves
    _p("late_base", 10, 2, 20, 1, "late move pruning: moves searched at depth 0"),
    _p("late_scale", 164, 30, 250, 15, "late move pruning: percent of depth squared added to them"),
    _p("futility_base", 144, 30, 400, 25, "futility of quiet moves: cp at reduced depth 0"),
    _p("futility_slope", 130, 40, 300, 15, "futility of quiet moves: cp for each ply of reduced depth"),
    _p("futility_depth", 9, 4, 16, 1, "futility of quiet moves: deepest reduced depth"),
    _p("capture_futility_base", 109, 50, 500, 25, "futility of captures: cp at reduced depth 0"),
    _p("capture_futility_slope", 375, 60, 500, 25, "futility of captures: cp for each ply of reduced depth"),
    _p("history_prune", 1900, 1000, 8000, 400, "history pruning: points below zero for each ply of depth"),
    _p("see_capture_slope", 258, 40, 500, 25, "exchange pruning of captures: cp lost for each ply of depth"),
    _p("see_quiet_slope", 14, 5, 80, 4, "exchange pruning of quiet moves: cp lost for each squared reduced ply"),
    # mates
    _p("mate_in_three_depth", 3, 1, 10, 1, "mate in three plies is looked for from this depth on"),
    # extensions
    _p("singular_depth", 6, 4, 10, 1, "singular extension: least depth"),
    _p("singular_margin", 68, 20, 200, 10, "singular extension: hundredths of cp below the hash value for each ply"),
    _p("double_margin", 14, 0, 100, 6, "double extension: cp below the singular window in non-PV nodes"),
    # reductions, in 1024ths of a ply
    _p("reduction_scale", 2284, 1000, 3500, 100, "late move reduction: hundredths of the factor of log(i)"),
    _p("reduction_base", 749, -500, 2000, 100, "late move reduction: added to every reduction"),
    _p("reduction_window", 882, 0, 1500, 80, "late move reduction: subtracted for a window as wide as the root's"),
    _p("reduction_pv", 1422, 0, 2500, 120, "late move reduction: less in nodes that are or were on the main line"),
    _p("reduction_cut", 1344, 0, 3000, 150, "late move reduction: more in expected cut nodes"),
    _p("reduction_capture", 667, 0, 2500, 120, "late move reduction: more when the hash move captures"),
    _p("reduction_cutoffs", 896, 0, 2500, 120, "late move reduction: more when the next ply often cuts off"),
    _p("reduction_improving", 676, 0, 2000, 100, "late move reduction: more when not improving"),
    _p("reduction_check", 938, 0, 2000, 100, "late move reduction: less for moves that give check"),
    _p("reduction_killer", 480, 0, 2500, 120, "late move reduction: less for killer and counter moves"),
    _p("reduction_history", 12532, 4000, 30000, 1000, "late move reduction: history points for one ply less"),
    _p("reduction_drop", -368, -1000, 1500, 100, "late move reduction: more for drops"),
    # history
    _p("bonus_slope", 236, 50, 400, 20, "history bonus for each ply of depth"),
    _p("bonus_base", -41, -300, 200, 30, "history bonus at depth 0"),
    _p("bonus_limit", 2009, 600, 3000, 100, "largest history bonus"),
    _p("malus_slope", 223, 50, 600, 25, "history malus for each ply of depth"),
    _p("malus_limit", 1459, 600, 3000, 100, "largest history malus"),
    _p("check_bonus", 9580, 0, 30000, 1000, "ordering points of a quiet move that gives check"),
    _p("evaluation_bonus", 4, 0, 30, 2, "bonus of the move before for each cp the evaluation rose through it"),
    _p("evaluation_bonus_limit", 875, 0, 3000, 100, "largest such bonus"),
    _p("correction_weight", 349, 0, 800, 50, "correction history: 1024ths of the four tables' sum that are applied"),
    # quiescence
    _p("delta_margin", 88, 50, 500, 25, "quiescence: cp a capture may fall short of alpha"),
    _p("quiescence_see", -47, -300, 50, 25, "quiescence: cp an exchange may lose"),
    _p("quiescence_tries", 5, 1, 10, 1, "quiescence: captures tried away from the last move's square"),
    _p("quiescence_recaptures", -6, -12, -2, 1, "quiescence: from this depth down only captures on the last square"),
    _p("quiescence_mate_depth", -6, -10, 0, 2, "quiescence: least depth (0 = first ply) that looks for a mate in one"),
    # rules
    _p("perpetual_value", 14000, 3000, 15000, 500, "cp of winning by the other side's perpetual check"),
)

SWITCH_NAMES: tuple[str, ...] = (
    "razoring",
    "reverse_futility",
    "null_move",
    "null_verify",
    "internal_reduction",
    "probcut",
    "late_move_pruning",
    "futility",
    "capture_futility",
    "history_pruning",
    "see_pruning",
    "singular",
    "multi_cut",
    "double_extension",
    "negative_extension",
    "check_extension",
    "late_move_reduction",
    "correction",
    "continuation",
    "capture_history",
    "killers",
    "check_order",
    "quiescence_checks",
    "delta",
    "mate_in_one",
    "quiescence_mate",
    "mate_in_three",
    "aspiration",
    "superior",
    "mate_distance",
    "hindsight",
    "evaluation_order",
)
"""Parts that can be switched off without compiling anew: bit i of `switches` belongs to name i."""

SWITCHES: dict[str, int] = {name: 1 << index for index, name in enumerate(SWITCH_NAMES)}
ALL_SWITCHES = (1 << len(SWITCH_NAMES)) - 1

PARAMETERS = np.dtype([*((p.name, "i4") for p in PARAMETER_TABLE), ("switches", "i8")], align=True)


def default_parameters(record: np.void) -> None:
    """Write the table's values into a PARAMETERS record."""
    for parameter in PARAMETER_TABLE:
        record[parameter.name] = parameter.value
    record["switches"] = ALL_SWITCHES


def find_parameter(name: str) -> Parameter:
    """The table's row of that name; raises ValueError when there is none."""
    for parameter in PARAMETER_TABLE:
        if parameter.name == name:
            return parameter
    raise ValueError(f"unknown search parameter: {name}")
