"""The float network in training: parameters with Adam's moments, random start, checkpoints.

Units. Activations run from 0 to 1 (127 in the integer network); the output is a logit, score = logit * scale.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eval.features import HALF_KP, K_P, KING_START, FeatureSet
from eval.learn.inputs import RELATIVE_NUMBERS, SLOTS, relative_table
from eval.learn.steps import ACTIVATION_STEPS, CHUNK

HIDDEN = 32
WEIGHT_STEPS = 64  # integer value of a hidden weight of 1.0
WEIGHT_LIMIT = 127  # int8
ROW_LIMIT = 32767  # int16
FV_SCALE = 16
START_BIAS = 0.1
FEATURES: dict[str, FeatureSet] = {"kp": K_P, "halfkp": HALF_KP}


@dataclass(frozen=True)
class Shape:
    """What decides the sizes: feature set, width of one perspective, and centipawns per logit."""

    features: str
    width: int
    scale: float = 600.0

    def __post_init__(self) -> None:
        if self.features not in FEATURES:
            raise ValueError(f"features must be one of {', '.join(FEATURES)}, not {self.features!r}")
        if self.width <= 0 or self.width % CHUNK:
            raise ValueError(f"width must be a multiple of {CHUNK}, not {self.width}")

    @property
    def factorised(self) -> bool:
        return self.features == "halfkp"

    @property
    def chunks(self) -> int:
        return self.width // CHUNK

    @property
    def rows(self) -> int:
        return FEATURES[self.features].inputs

    @property
    def output_steps(self) -> float:
        """Integer value of a logit of 1.0 in the output layer."""
        return FV_SCALE * self.scale


class Model:
    """Parameters of one network. First layer: float32[chunk, 3, row, 64] with Adam's moments at 1 and 2."""

    def __init__(self, shape: Shape, seed: int = 1) -> None:
        self.shape = shape
        self.step = 0
        rng = np.random.default_rng(seed)
        factor_rows = (KING_START, RELATIVE_NUMBERS) if shape.factorised else (1, 1)
        self.rows = np.zeros((shape.chunks, 3, shape.rows, CHUNK), dtype=np.float32)
        self.pieces = np.zeros((shape.chunks, 3, factor_rows[0], CHUNK), dtype=np.float32)
        self.relatives = np.zeros((shape.chunks, 3, factor_rows[1], CHUNK), dtype=np.float32)
        self.bias = np.zeros((shape.chunks, 3, 1, CHUNK), dtype=np.float32)
        spread = (self.pieces if shape.factorised else self.rows)[:, 0]
        spread[:] = rng.normal(0, 0.5 / np.sqrt(SLOTS), spread.shape)
        self.bias[:, 0] = START_BIAS
        self.dense = np.zeros(sum(size for size, _ in self.parts().values()), dtype=np.float32)
        self.moments = np.zeros((2, len(self.dense)), dtype=np.float32)
        for name in ("w1", "w2", "w3"):
            weights = self.part(name)
            fan_in = weights.shape[0]
            weights[:] = rng.uniform(-1, 1, weights.shape) / np.sqrt(fan_in)
        self.part("b1")[:] = START_BIAS
        self.part("b2")[:] = START_BIAS

    def parts(self) -> dict[str, tuple[int, tuple[int, ...]]]:
        """Name -> (size, shape) of the parts of `dense`, in order. Weights are [input, output]."""
        shapes: dict[str, tuple[int, ...]] = {
            "w1": (2 * self.shape.width, HIDDEN),
            "b1": (HIDDEN,),
            "w2": (HIDDEN, HIDDEN),
            "b2": (HIDDEN,),
            "w3": (HIDDEN,),
            "b3": (1,),
        }
        return {name: (int(np.prod(shape)), shape) for name, shape in shapes.items()}

    def part(self, name: str, flat: np.ndarray | None = None) -> np.ndarray:
        """View of one part of `dense`, or of another flat vector of the same layout."""
        flat = self.dense if flat is None else flat
        start = 0
        for other, (size, shape) in self.parts().items():
            if other == name:
                return flat[..., start : start + size].reshape(*flat.shape[:-1], *shape)
            start += size
        raise KeyError(name)

    def steps(self) -> np.ndarray:
        """float32, as `dense`: integer steps per unit of each parameter in the integer network."""
        steps = np.empty_like(self.dense)
        for name in ("w1", "w2"):
            self.part(name, steps)[:] = WEIGHT_STEPS
        for name in ("b1", "b2"):
            self.part(name, steps)[:] = WEIGHT_STEPS * ACTIVATION_STEPS
        self.part("w3", steps)[:] = self.shape.output_steps / ACTIVATION_STEPS
        self.part("b3", steps)[:] = self.shape.output_steps
        return steps

    def bounds(self) -> np.ndarray:
        """float32, as `dense`: the largest magnitudes that the integer network can hold (biases: no limit)."""
        bounds = np.full_like(self.dense, 1e6)
        steps = self.steps()
        for name in ("w1", "w2", "w3"):
            self.part(name, bounds)[:] = WEIGHT_LIMIT / self.part(name, steps)
        return bounds

    def forget_moments(self) -> None:
        """Make Adam start anew, for a new run with these parameters."""
        self.step = 0
        self.moments[:] = 0
        for tables in (self.rows, self.pieces, self.relatives, self.bias):
            tables[:, 1:] = 0

    def save(self, path: Path, extra: str = "") -> None:
        """Write a checkpoint with a text of the caller's; the old one stays whole until the new one is complete."""
        fresh = path.with_name(path.name + ".tmp")
        with fresh.open("wb") as file:
            np.savez(
                file,
                features=self.shape.features,
                width=self.shape.width,
                scale=self.shape.scale,
                step=self.step,
                extra=extra,
                rows=self.rows,
                pieces=self.pieces,
                relatives=self.relatives,
                bias=self.bias,
                dense=self.dense,
                moments=self.moments,
            )
        fresh.replace(path)

    @classmethod
    def load(cls, path: Path) -> tuple[Model, str]:
        """Read a checkpoint and its text. Raises ValueError if it is none."""
        try:
            stored = np.load(path)
        except OSError as error:
            raise ValueError(f"{path} is no checkpoint: {error.strerror}") from None
        except (ValueError, zipfile.BadZipFile, EOFError):
            raise ValueError(f"{path} is no checkpoint, or a part of one") from None
        if not isinstance(stored, np.lib.npyio.NpzFile):
            raise ValueError(f"{path} is no checkpoint of a training run")
        with stored:
            if "moments" not in stored:
                raise ValueError(f"{path} is no checkpoint of a training run")
            model = cls(Shape(str(stored["features"]), int(stored["width"]), float(stored["scale"])))
            model.step = int(stored["step"])
            for name in ("rows", "pieces", "relatives", "bias", "dense", "moments"):
                setattr(model, name, stored[name])
            return model, str(stored["extra"])

    def first_layer(self, numbers: np.ndarray | None = None) -> np.ndarray:
        """float32[rows, width]: first-layer rows with their factors summed, all or those of some row numbers.

        Rows of number 0, the missing piece, are zero.
        """
        shape = self.shape
        numbers = np.arange(shape.rows) if numbers is None else numbers
        chunks = self.rows[:, 0, numbers]
        piece = numbers
        if shape.factorised:
            king, piece = np.divmod(numbers, KING_START)
            chunks += self.pieces[:, 0, piece]
            relative = relative_table()[king, piece]
            chunks[:, relative >= 0] += self.relatives[:, 0, relative[relative >= 0]]
        chunks[:, piece == 0] = 0
        return chunks.transpose(1, 0, 2).reshape(len(numbers), shape.width)
