"""One training run from data files to a network file."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from engine.rules.tables import variant_tables
from eval.learn import quantise
from eval.learn.dataset import Choice, held_out
from eval.learn.model import Model, Shape
from eval.learn.sources import Data, Note, cached_samples
from eval.learn.trainer import Fit, Plan, Trainer, fit
from eval.network_file import write_network

VALIDATION_LIMIT = 200_000  # positions
CHECKED = 20_000  # positions on which the integer network is compared
FOLDED = 10_000  # positions for the mean rounding error


@dataclass(frozen=True)
class Recipe:
    """Everything that decides a network, apart from the machine's number of threads."""

    data: tuple[Path, ...]
    shape: Shape
    plan: Plan
    variant: str = "shogi"
    choice: Choice = field(default_factory=Choice)
    weights: tuple[float, ...] = ()  # of each data file; missing ones are 1
    tempo: tuple[float, ...] = (0.0,)  # centipawns by which scores favour the side to move; one, or one a file
    smooth: bool = False  # average neighbouring scores
    score_share: tuple[float, float] = (1.0, 1.0)  # of the score in the target at ply 0 and at ply 200; rest: result
    validation: float = 0.05  # share of the first file's games
    start: Path | None = None  # checkpoint whose parameters to begin with

    def per_file(self, values: Sequence[float], default: float) -> np.ndarray:
        """float32[files] from one value, one a file, or less (filled up)."""
        if len(values) == 1:
            return np.full(len(self.data), values[0], dtype=np.float32)
        filled = list(values) + [default] * (len(self.data) - len(values))
        return np.array(filled[: len(self.data)], dtype=np.float32)


@dataclass
class Sets:
    """Training and validation sets: inputs uint16[n, 40], targets float32[n], weights float32[n]."""

    inputs: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    check_inputs: np.ndarray
    check_targets: np.ndarray


@dataclass
class Summary:
    """What came out. Losses are mean Kullback-Leibler divergences from the targets."""

    network: str
    positions: int
    history: list[dict[str, float]]  # by epoch
    rounding_error: float | None = None  # mean |integer - float| score, centipawns
    integer: Fit | None = None


LATE_PLY = 200


def targets_of(samples: np.ndarray, recipe: Recipe) -> np.ndarray:
    """float32[n]: win probability of the side to move that the network should give."""
    tempo = recipe.per_file(recipe.tempo, recipe.tempo[-1] if recipe.tempo else 0.0)[samples["source"]]
    by_score = 1 / (1 + np.exp(-(samples["score"] - tempo) / np.float32(recipe.shape.scale)))
    first, last = recipe.score_share
    if first == last == 1.0:
        return by_score.astype(np.float32)
    share = first + (last - first) * np.minimum(samples["ply"] / np.float32(LATE_PLY), 1)
    return (share * by_score + (1 - share) * (samples["result"] + 1) / 2).astype(np.float32)


def split(data: Data, recipe: Recipe) -> Sets:
    """Targets made and games divided. Positions beside held-out games serve neither purpose."""
    samples = data.samples
    held = held_out(samples, recipe.validation) & (samples["game"] < data.first_games)
    train = samples[~held]
    check = samples[held & (samples["source"] == 0)][:VALIDATION_LIMIT]
    return Sets(
        np.ascontiguousarray(train["inputs"]),
        targets_of(train, recipe),
        recipe.per_file(recipe.weights or (1.0,), 1.0)[train["source"]],
        np.ascontiguousarray(check["inputs"]),
        targets_of(check, recipe),
    )


@dataclass
class Watcher:
    """What a run reports: lines of text, and after every batch (step, steps, loss, positions so far, seconds)."""

    note: Note = lambda text: None
    batch: Callable[[int, int, float, int, float], None] = lambda *numbers: None


def train(
    recipe: Recipe,
    out: Path,
    checkpoint: Path | None = None,
    resume: bool = False,
    cache: Path | None = None,
    watcher: Watcher | None = None,
) -> Summary:
    """Train and write the network to `out`. Raises ValueError if the data or a checkpoint do not fit.

    `checkpoint` is written after every epoch; with `resume` it is where to go on, if it exists.
    """
    watcher = watcher or Watcher()
    data = cached_samples(recipe.data, recipe.variant, recipe.choice, recipe.smooth, cache, watcher.note)
    sets = split(data, recipe)
    plan = recipe.plan
    if len(sets.inputs) < plan.batch:
        raise ValueError(f"{len(sets.inputs):,} positions are less than one batch of {plan.batch:,}")
    model, history = _begin(recipe, checkpoint if resume else None)
    trainer = Trainer(model, plan, variant_tables(recipe.variant))
    watcher.note(f"training on {len(sets.inputs):,} positions, checking on {len(sets.check_inputs):,}")
    batches = len(sets.inputs) // plan.batch
    for number in range(len(history), plan.epochs):
        started = time.perf_counter()
        losses = []
        for loss in trainer.epoch(number, sets.inputs, sets.targets, sets.weights):
            losses.append(loss)
            seconds = time.perf_counter() - started
            done = number * batches + len(losses)
            watcher.batch(done, batches * plan.epochs, loss, len(losses) * plan.batch, seconds)
        speed = batches * plan.batch / (time.perf_counter() - started)
        history.append(_epoch_row(number, losses, trainer, sets, speed))
        watcher.note(_epoch_text(history[-1]))
        if checkpoint:
            model.save(checkpoint, json.dumps(history))
    summary = export(model, recipe, trainer, sets, out)
    summary.history = history
    return summary


def _begin(recipe: Recipe, checkpoint: Path | None) -> tuple[Model, list[dict[str, float]]]:
    """A new model, one with another's parameters, or an interrupted one with the history of its epochs."""
    if checkpoint and checkpoint.exists():
        model, extra = Model.load(checkpoint)
        history = json.loads(extra)
    elif recipe.start:
        model, history = Model.load(recipe.start)[0], []
        model.forget_moments()
    else:
        return Model(recipe.shape, recipe.plan.seed), []
    if model.shape != recipe.shape:
        raise ValueError(f"the checkpoint is of {model.shape}, not of {recipe.shape}")
    return model, history


def _epoch_row(number: int, losses: list[float], trainer: Trainer, sets: Sets, speed: float) -> dict[str, float]:
    row: dict[str, float] = {"epoch": number + 1, "loss": float(np.mean(losses)), "speed": speed}
    if len(sets.check_inputs):
        quantised = number + 1 > trainer.plan.quantise_from * trainer.plan.epochs
        logits = trainer.predict(sets.check_inputs, quantised)
        row |= {
            f"check_{name}": value for name, value in asdict(fit(logits, sets.check_targets, trainer.scale)).items()
        }
    return row


def _epoch_text(row: dict[str, float]) -> str:
    text = f"epoch {row['epoch']:.0f}: loss {row['loss']:.5f}"
    if "check_loss" in row:
        text += f", on held-out games {row['check_loss']:.5f} (sign {row['check_agreement']:.1%}"
        text += f", error {row['check_error']:.0f} cp)"
    return f"{text}, {row['speed']:,.0f} positions a second"


def export(model: Model, recipe: Recipe, trainer: Trainer, sets: Sets, out: Path) -> Summary:
    """Round the model, write it, and measure what rounding costs."""
    mirror = trainer.mirror if recipe.plan.mirror else None
    seen = quantise.seen_rows(model.shape.features, sets.inputs, trainer.swap, mirror)
    network = quantise.quantise(model, seen, recipe.variant)
    if recipe.plan.quantise_from >= 1:
        sample = sets.inputs[:: max(1, len(sets.inputs) // FOLDED)]
        quantise.fold_errors(network, model, sample, trainer.swap)
    write_network(out, network)
    summary = Summary(network.name, len(sets.inputs), [])
    inputs, targets = (sets.check_inputs, sets.check_targets) if len(sets.check_inputs) else (sets.inputs, sets.targets)
    inputs, targets = inputs[:CHECKED], targets[:CHECKED]
    scores = quantise.integer_scores(network, inputs, trainer.swap)
    floats = trainer.predict(inputs) * model.shape.scale
    summary.rounding_error = float(np.mean(np.abs(scores - floats)))
    summary.integer = fit((scores / model.shape.scale).astype(np.float32), targets, model.shape.scale)
    return summary


def plot(history: list[dict[str, float]], path: Path) -> None:
    """Draw the losses by epoch. Raises ValueError if matplotlib is missing."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise ValueError("a plot needs matplotlib: pip install narikin[train]") from None
    figure = Figure(figsize=(7, 4))
    FigureCanvasAgg(figure)
    axes: Any = figure.add_subplot()
    epochs = [row["epoch"] for row in history]
    axes.plot(epochs, [row["loss"] for row in history], marker="o", label="training")
    if all("check_loss" in row for row in history):
        axes.plot(epochs, [row["check_loss"] for row in history], marker="o", label="held-out games")
    axes.set_xlabel("epoch")
    axes.set_ylabel("loss (KL divergence)")
    axes.legend()
    figure.savefig(path, bbox_inches="tight")
