"""From the float network to the integers of nn.bin, and how much is lost on the way."""

from __future__ import annotations

import numpy as np

from eval.features import KING_START
from eval.learn.inputs import FIRST_PIECE
from eval.learn.model import ACTIVATION_STEPS, FEATURES, FV_SCALE, HIDDEN, ROW_LIMIT, WEIGHT_LIMIT, WEIGHT_STEPS, Model
from eval.network_file import Dense, Network


def quantise(model: Model, seen: np.ndarray, variant: str = "shogi") -> Network:
    """Round a model to the file's integers. seen: bool[rows]; rows that training never used become zero."""
    rows = model.first_layer() * ACTIVATION_STEPS
    rows[~seen] = 0
    steps = model.steps()
    arrays = []
    for layer in (1, 2, 3):
        biases = model.part(f"b{layer}") * model.part(f"b{layer}", steps)
        weights = (model.part(f"w{layer}") * model.part(f"w{layer}", steps)).reshape(-1, HIDDEN if layer < 3 else 1)
        arrays += [np.rint(biases).astype(np.int32), _rounded(weights.T, WEIGHT_LIMIT, np.int8)]
    bias = _rounded(model.bias[:, 0, 0].reshape(-1) * ACTIVATION_STEPS, ROW_LIMIT, np.int16)
    features = FEATURES[model.shape.features]
    return Network(features, bias, _rounded(rows, ROW_LIMIT, np.int16), [Dense(*arrays)], variant=variant)


def _rounded(values: np.ndarray, limit: int, kind: type) -> np.ndarray:
    return np.clip(np.rint(values), -limit, limit).astype(kind)


def row_numbers(features: str, views: np.ndarray) -> np.ndarray:
    """int64[n, slots]: first-layer rows that views use. Slots without a piece give row 0 (HalfKP: of their king)."""
    if features == "kp":
        return views.astype(np.int64)
    kings = views[:, :1].astype(np.int64) - KING_START
    return kings * KING_START + views[:, FIRST_PIECE:]


def other_views(views: np.ndarray, swap: np.ndarray) -> np.ndarray:
    """The same positions from the other side."""
    other = swap[views]
    other[:, [0, 1]] = other[:, [1, 0]]
    return other


def seen_rows(features: str, inputs: np.ndarray, swap: np.ndarray, mirror: np.ndarray | None) -> np.ndarray:
    """bool[rows]: rows that samples use in either view, and in the mirror image when a mirror table is given.

    Rows of number 0, the missing piece, are never trained and count as unseen.
    """
    seen = np.zeros(FEATURES[features].inputs, dtype=bool)
    for start in range(0, len(inputs), 1 << 16):
        own = inputs[start : start + (1 << 16)]
        for view in (own, other_views(own, swap)):
            seen[row_numbers(features, view)] = True
            if mirror is not None:
                seen[row_numbers(features, mirror[view])] = True
    seen[:: KING_START if features == "halfkp" else len(seen)] = False
    return seen


def integer_sums(network: Network, inputs: np.ndarray, swap: np.ndarray) -> list[np.ndarray]:
    """What the playing engine computes, in plain numpy: the sums of the three dense layers, int64[n, outputs]."""
    features = "kp" if network.features.planes == 1 else "halfkp"
    halves = []
    for view in (inputs, other_views(inputs, swap)):
        sums = np.tile(network.bias.astype(np.int64), (len(view), 1))
        for column in row_numbers(features, view).T:  # a row at a time: all at once would need gigabytes
            sums += network.rows[column]
        halves.append(np.clip(sums, 0, ACTIVATION_STEPS))
    x = np.concatenate(halves, axis=1)
    dense = network.stacks[0]
    trace = []
    for biases, weights in (
        (dense.bias_1, dense.weights_1),
        (dense.bias_2, dense.weights_2),
        (dense.bias_3, dense.weights_3),
    ):
        # float64 holds these integers exactly and has a fast product
        sums = (x.astype(np.float64) @ weights.T.astype(np.float64)).astype(np.int64) + biases
        trace.append(sums)
        x = np.clip(sums // WEIGHT_STEPS, 0, ACTIVATION_STEPS)
    return trace


def integer_scores(network: Network, inputs: np.ndarray, swap: np.ndarray) -> np.ndarray:
    """int64[n]: centipawns for the side to move, as the playing engine gives them at FV_SCALE 16."""
    output = integer_sums(network, inputs, swap)[-1][:, 0]
    return np.sign(output) * (np.abs(output) // FV_SCALE)


def fold_errors(network: Network, model: Model, inputs: np.ndarray, swap: np.ndarray) -> None:
    """Move the mean error that rounding causes in each layer's sums on these samples into that layer's biases.

    Layer by layer, since a corrected layer changes the ones after it. Networks trained with rounded weights hardly
    need it; others lose about half of their error.
    """
    wanted = float_sums(model, inputs, swap)
    dense = network.stacks[0]
    units = (WEIGHT_STEPS * ACTIVATION_STEPS, WEIGHT_STEPS * ACTIVATION_STEPS, model.shape.output_steps)
    for layer, (biases, unit) in enumerate(zip((dense.bias_1, dense.bias_2, dense.bias_3), units, strict=True)):
        error = wanted[layer].mean(axis=0) * unit - integer_sums(network, inputs, swap)[layer].mean(axis=0)
        biases += np.rint(error).astype(np.int32)


def float_sums(model: Model, inputs: np.ndarray, swap: np.ndarray) -> list[np.ndarray]:
    """The float network in plain numpy: the sums of the three dense layers, float64[n, outputs]."""
    numbers = [row_numbers(model.shape.features, view) for view in (inputs, other_views(inputs, swap))]
    used, places = np.unique(np.stack(numbers), return_inverse=True)
    rows = model.first_layer(used).astype(np.float64)
    bias = model.bias[:, 0, 0].reshape(-1).astype(np.float64)
    halves = []
    for view in places.reshape(2, *numbers[0].shape):
        sums = np.tile(bias, (len(view), 1))
        for column in view.T:
            sums += rows[column]
        halves.append(np.clip(sums, 0, 1))
    x = np.concatenate(halves, axis=1)
    trace = []
    for layer in (1, 2, 3):
        weights = model.part(f"w{layer}").astype(np.float64)
        sums = x @ weights.reshape(x.shape[1], -1) + model.part(f"b{layer}")
        trace.append(sums)
        x = np.clip(sums, 0, 1)
    return trace
