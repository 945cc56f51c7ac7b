"""The search's own records: what one thread keeps while it thinks (WORKER), and the scores.

Scores are centipawns from the side to move's view. A mate in n plies is MATE - n, being mated in n is n - MATE;
a declaration counts as the end of the game like a mate. Everything else stays within +-EVALUATION_LIMIT.
"""

from __future__ import annotations

import numpy as np
from numba import from_dtype, types

from engine.rules.layout import MAX_MOVES, MOVE_BUFFER
from engine.search.parameters import PARAMETERS

MATE = 32000
INFINITE = 32001
MATE_IN_MAX = 31000  # scores from here on are mates
EVALUATION_LIMIT = 15000
NO_VALUE = 32002  # "no static evaluation": in check, or not computed

MAX_PLY = 200  # deepest line, in plies from the root
STACK_BEFORE = 8  # empty stack entries before the root, so that six plies back always exist

PV_NODE, CUT_NODE = 1, 2  # bits of a search's `kind`

BOUND_NONE, BOUND_UPPER, BOUND_LOWER, BOUND_EXACT = 0, 1, 2, 3

# A move's row in the piece-to-square histories: what moved (drops and each colour apart, gold-like pieces together)
# times the target square.
MOVE_KINDS = 17
ROWS = MOVE_KINDS * 2 * 81

CORRECTIONS = 4096  # entries of each correction table
TRIED = 64  # quiet moves or captures of one node that are remembered for the history

STACK = np.dtype(
    [
        ("move", "i4"),  # the move being searched from this ply
        ("row", "i4"),  # its row in the continuation history, 0 after a null move
        ("excluded", "i4"),  # move left out by a singular search, 0 = none
        ("static_eval", "i4"),  # corrected static evaluation, NO_VALUE in check
        ("killers", "i4", 2),  # quiet moves that cut off at this ply
        ("stat", "i4"),  # history points of the move being searched
        ("move_count", "i4"),  # number of the move being searched, 1 = first
        ("cutoffs", "i4"),  # cut-offs in the children of the previous ply's node
        ("reduction", "i4"),  # plies by which the move being searched is reduced
        ("tt_pv", "i4"),  # 1: the node is or was on the main line
        ("extensions", "i4"),  # double extensions on the way here
        ("free", "i4"),  # first unused move of the buffer below this node
        ("in_check", "i4"),
    ],
    align=True,
)

PICKER = np.dtype(
    [
        ("stage", "i4"),
        ("hash_move", "i4"),
        ("start", "i4"),  # first move of the current list
        ("cursor", "i4"),  # next move of the buffer to hand out
        ("end", "i4"),  # behind the last move of the current list
        ("begin", "i4"),  # first move of the buffer that belongs to this node
        ("bad_end", "i4"),  # captures that lose material wait in begin .. bad_end
        ("killers", "i4", 3),  # two killers and the counter move
        ("threshold", "i4"),  # exchange value wanted of captures (ProbCut)
        ("depth", "i4"),  # decides how far quiet moves are sorted
        ("checks", "u8", (16, 2)),  # by piece type: squares from which it would give check
    ],
    align=True,
)

ROOT_MOVE = np.dtype(
    [
        ("move", "i4"),
        ("score", "i4"),  # of the running iteration; -INFINITE if not (yet) better than alpha
        ("previous", "i4"),  # score of the last iteration
        ("average", "i4"),  # running mean of scores, the centre of the aspiration window
        ("bound", "i4"),  # BOUND_EXACT, or which side the score failed on
        ("seldepth", "i4"),
        ("length", "i4"),
        ("effort", "i8"),  # nodes spent below this move
        ("line", "i4", MAX_PLY + 2),  # the move and what follows
    ],
    align=True,
)

WORKER = np.dtype(
    [
        ("nodes", "i8"),  # moves made
        ("node_limit", "i8"),  # stop when `nodes` reaches it
        ("search", "u8"),  # addresses of the compiled functions that call each other
        ("quiescence", "u8"),
        ("next_move", "u8"),
        ("clock_words", "i8", 2),  # where the system's clock writes
        ("looked", "i8"),  # when this thread last looked at the clock, 0 = not in this iteration
        ("longest_pause", "i8"),  # between two looks of one search: how long a busy machine held the thread off
        ("seldepth", "i8"),
        ("root_depth", "i8"),
        ("root_delta", "i8"),  # width of the root's window
        ("null_ply", "i8"),  # no null move for `null_colour` before this ply
        ("null_colour", "i8"),
        ("root_count", "i8"),  # number of root moves
        ("root_index", "i8"),  # line of MultiPV being searched
        ("alpha", "i8"),  # window of the running aspiration
        ("beta", "i8"),
        ("delta", "i8"),
        ("fails", "i8"),  # fail-highs in a row
        ("best_changes", "i8"),  # how often the best root move changed
        ("parameters", PARAMETERS),
        ("pickers", PICKER, 2 * (MAX_PLY + 4)),  # by ply, and a second one for the singular search at that ply
        ("stack", STACK, MAX_PLY + STACK_BEFORE + 8),
        ("line_length", "i4", MAX_PLY + 4),
        ("line", "i4", (MAX_PLY + 4, MAX_PLY + 4)),  # triangular table of main lines by ply
        ("tried_quiets", "i4", (MAX_PLY + 4, TRIED)),
        ("tried_captures", "i4", (MAX_PLY + 4, TRIED)),
        ("root_order", "i4", MAX_MOVES),  # indexes into root_moves, best first
        ("root_moves", ROOT_MOVE, MAX_MOVES),
        ("scores", "i4", MOVE_BUFFER),  # ordering points of P.moves
        ("reductions", "i4", 256),  # factor log(i) of late move reductions
        ("exchange", "i4", 32),  # by piece: centipawns that change hands when it is captured
        ("move_kind", "i4", 64),  # by piece after the move, + 32 for drops: row of its first square
        ("counters", "i4", ROWS),  # quiet move that refuted a move, by the refuted move's row
        ("butterfly", "i2", (2, 1 << 16)),  # by colour and move
        ("captures", "i2", (ROWS, 16)),  # by row and captured type (0 = a pawn's promotion)
        ("continuation", "i2", (ROWS, ROWS)),  # by row of an earlier move and row
        ("pawn_correction", "i2", (2, CORRECTIONS)),  # by side to move: 1/16 cp by which the evaluation was off
        ("hand_correction", "i2", (2, CORRECTIONS)),
        ("piece_correction", "i2", (2, CORRECTIONS)),
        ("move_correction", "i2", (2, ROWS)),
    ],
    align=True,
)

worker_type: types.Record = from_dtype(WORKER)
picker_type: types.Record = from_dtype(PICKER)
