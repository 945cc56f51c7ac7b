"""Training: batches, learning rate, validation. The arithmetic is in steps.py."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.rules.codes import SQUARES
from eval.learn import steps
from eval.learn.inputs import SLOTS, mirror_table, relative_table, swap_table
from eval.learn.model import HIDDEN, Model

PART = 256  # samples that go through the small layers together; a batch is a whole number of parts


@dataclass(frozen=True)
class Plan:
    """Settings of one training run."""

    epochs: int = 6
    batch: int = 8192
    rate: float = 2e-3
    king_rate: float = 1.0  # HalfKP: factor of the rate for the rows of single king squares
    warm_up: int = 100  # steps
    last_rate: float = 0.01  # of `rate`, reached by a cosine
    mirror: bool = True  # every other time a sample is seen, it is reflected left to right
    seed: int = 1
    threads: int = 1
    quantise_from: float = 0.5  # from this share of the steps on, the forward pass uses rounded weights


@dataclass
class Fit:
    """How a model does on a set of samples."""

    loss: float  # weighted mean of the Kullback-Leibler divergence
    agreement: float  # share of equal signs among targets at least 100 centipawns from even
    error: float  # mean |difference| in centipawns, targets limited to +-2000


class Trainer:
    """Runs batches of one model. inputs: uint16[n, 40], targets: float32[n] (win probability), weights: float32[n]."""

    def __init__(self, model: Model, plan: Plan, tables: Any) -> None:
        """`tables`: the TABLES record of the variant that the samples are from."""
        if plan.batch % PART:
            raise ValueError(f"the batch must be a multiple of {PART}, not {plan.batch}")
        self.model, self.plan, self.scale = model, plan, model.shape.scale
        shape = model.shape
        batch = plan.batch
        self.swap, self.mirror = swap_table(tables), mirror_table(int(tables["width"]))
        self.relatives = relative_table() if shape.factorised else np.zeros((1, 1), dtype=np.int32)
        self.views = np.zeros((2 * batch, SLOTS), dtype=np.uint16)
        self.groups = np.zeros(2 * batch, dtype=np.int64)
        self.order = np.arange(2 * batch, dtype=np.int64)
        self.starts = np.array([0, 2 * batch], dtype=np.int64)
        if shape.factorised:
            self.starts = np.zeros(SQUARES + 1, dtype=np.int64)
        self.x = np.zeros((batch, 2 * shape.width), dtype=np.float32)
        self.logits = np.zeros(batch, dtype=np.float32)
        self.slopes = np.zeros(batch, dtype=np.float32)
        self.gradients = np.zeros((batch // PART, len(model.dense)), dtype=np.float32)
        self.bounds, self.steps = model.bounds(), model.steps()
        self.scratch = [self._scratch() for _ in range(plan.threads)]
        self.pool = ThreadPoolExecutor(plan.threads) if plan.threads > 1 else None

    def _scratch(self) -> dict[str, np.ndarray]:
        small = {name: np.zeros((PART, HIDDEN), dtype=np.float32) for name in ("z1", "h1", "z2", "h2", "d1", "d2")}
        return small | {"dx": np.zeros((PART, self.x.shape[1]), dtype=np.float32)}

    def _each(self, work: Callable[[int, int], Any], count: int) -> list[Any]:
        """work(item, thread) for all items; each thread takes every n-th one. Results in the order of the items."""
        threads = self.plan.threads
        results: list[Any] = [None] * count

        def run(thread: int) -> None:
            for item in range(thread, count, threads):
                results[item] = work(item, thread)

        if self.pool is None:
            run(0)
        else:
            list(self.pool.map(run, range(threads)))
        return results

    def _first_layer(self, quantise: bool) -> None:
        model, shape = self.model, self.model.shape

        def forward(chunk: int, thread: int) -> None:
            steps.forward_chunk(
                self.views,
                self.order,
                self.starts,
                shape.factorised,
                self.relatives,
                model.rows[chunk, 0],
                model.pieces[chunk, 0],
                model.relatives[chunk, 0],
                model.bias[chunk, 0, 0],
                quantise,
                self.x,
                chunk * steps.CHUNK,
            )

        self._each(forward, shape.chunks)

    def _load(self, inputs: np.ndarray, picks: np.ndarray, mirrored: np.ndarray) -> None:
        steps.gather_views(inputs, picks, mirrored, self.swap, self.mirror, self.views, self.groups)
        if self.model.shape.factorised:
            steps.group_views(self.groups, self.order, self.starts)

    def _small_layers(self, quantise: bool) -> dict[str, np.ndarray]:
        flat = self.model.dense
        if quantise:
            flat = np.rint(flat * self.steps) / self.steps
        return {name: self.model.part(name, flat) for name in self.model.parts()}

    def _forward_part(self, part: int, thread: int, layers: dict[str, np.ndarray], quantise: bool) -> slice:
        rows = slice(part * PART, (part + 1) * PART)
        s = self.scratch[thread]
        weights = (layers[name] for name in ("w1", "b1", "w2", "b2", "w3", "b3"))
        steps.forward_part(self.x[rows], *weights, quantise, s["z1"], s["h1"], s["z2"], s["h2"], self.logits[rows])
        return rows

    def train_batch(
        self,
        inputs: np.ndarray,
        picks: np.ndarray,
        mirrored: np.ndarray,
        targets: np.ndarray,
        weights: np.ndarray,
        rate: float,
        quantise: bool,
    ) -> float:
        """One step of Adam on samples `picks`; targets and weights belong to the picks. Returns the mean loss."""
        model = self.model
        model.step += 1
        rate *= math.sqrt(1 - steps.BETA2**model.step) / (1 - steps.BETA1**model.step)
        loss = self.batch_gradients(inputs, picks, mirrored, targets, weights, quantise)

        def backward(chunk: int, thread: int) -> None:
            steps.backward_chunk(
                self.views,
                self.order,
                self.starts,
                model.shape.factorised,
                self.relatives,
                model.rows[chunk],
                model.pieces[chunk],
                model.relatives[chunk],
                model.bias[chunk],
                self.x,
                chunk * steps.CHUNK,
                rate,
                rate * self.plan.king_rate if model.shape.factorised else rate,
            )

        self._each(backward, model.shape.chunks)
        steps.adam_dense(model.dense, model.moments, self.gradients, self.bounds, rate)
        return loss

    def batch_gradients(
        self,
        inputs: np.ndarray,
        picks: np.ndarray,
        mirrored: np.ndarray,
        targets: np.ndarray,
        weights: np.ndarray,
        quantise: bool,
    ) -> float:
        """Forward, and back to the first layer's outputs: fills `gradients` and `x`. Returns the mean loss."""
        self._load(inputs, picks, mirrored)
        self._first_layer(quantise)
        layers = self._small_layers(quantise)
        w1t, w2t = np.ascontiguousarray(layers["w1"].T), np.ascontiguousarray(layers["w2"].T)
        share = 1.0 / float(weights.sum())

        def work(part: int, thread: int) -> float:
            rows = self._forward_part(part, thread, layers, quantise)
            loss = steps.loss_part(self.logits[rows], targets[rows], weights[rows], share, self.slopes[rows])
            s = self.scratch[thread]
            gradients = self.gradients[part]
            parts = (self.model.part(name, gradients) for name in ("w1", "b1", "w2", "b2", "w3", "b3"))
            steps.backward_part(
                self.x[rows],
                w1t,
                w2t,
                layers["w3"],
                s["z1"],
                s["h1"],
                s["z2"],
                s["h2"],
                self.slopes[rows],
                s["d1"],
                s["d2"],
                s["dx"],
                *parts,
            )
            return loss

        return sum(self._each(work, len(picks) // PART)) * share

    def predict(self, inputs: np.ndarray, quantise: bool = False) -> np.ndarray:
        """Logits of any number of samples, float32[n]."""
        batch = self.plan.batch
        layers = self._small_layers(quantise)
        result = np.empty(len(inputs), dtype=np.float32)
        plain = np.zeros(batch, dtype=np.uint8)
        for start in range(0, len(inputs), batch):
            picks = np.minimum(np.arange(start, start + batch), len(inputs) - 1)
            self._load(inputs, picks, plain)
            self._first_layer(quantise)
            self._each(lambda part, thread: self._forward_part(part, thread, layers, quantise), batch // PART)
            count = min(batch, len(inputs) - start)
            result[start : start + count] = self.logits[:count]
        return result

    def rate(self, step: int, total: int) -> float:
        """Learning rate of step 0 .. total - 1: linear warm-up, then a cosine down to `last_rate`."""
        plan = self.plan
        if step < plan.warm_up:
            return plan.rate * (step + 1) / plan.warm_up
        progress = (step - plan.warm_up) / max(1, total - plan.warm_up)
        return plan.rate * (plan.last_rate + (1 - plan.last_rate) * 0.5 * (1 + math.cos(math.pi * progress)))

    def epoch(self, number: int, inputs: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> Iterator[float]:
        """Train on every sample once (the last incomplete batch is dropped), yielding the loss of each batch."""
        plan = self.plan
        batches = len(inputs) // plan.batch
        total = batches * plan.epochs
        order = np.random.default_rng((plan.seed, number)).permutation(len(inputs))
        for batch in range(batches):
            step = number * batches + batch
            picks = order[batch * plan.batch : (batch + 1) * plan.batch]
            mirrored = ((picks + number) % 2 if plan.mirror else np.zeros_like(picks)).astype(np.uint8)
            quantise = step >= plan.quantise_from * total
            rate = self.rate(step, total)
            yield self.train_batch(inputs, picks, mirrored, targets[picks], weights[picks], rate, quantise)


def fit(logits: np.ndarray, targets: np.ndarray, scale: float) -> Fit:
    """Compare logits with target probabilities."""
    p = np.clip(1 / (1 + np.exp(-logits.astype(np.float64))), 1e-9, 1 - 1e-9)
    t = np.clip(targets.astype(np.float64), 1e-9, 1 - 1e-9)
    loss = float(np.mean(t * np.log(t / p) + (1 - t) * np.log((1 - t) / (1 - p))))
    wanted = np.log(t / (1 - t)) * scale
    clear = np.abs(wanted) >= 100
    agreement = float(np.mean((wanted[clear] > 0) == (logits[clear] > 0))) if clear.any() else 1.0
    near = np.abs(wanted) <= 2000
    error = float(np.mean(np.abs(wanted[near] - logits[near] * scale))) if near.any() else 0.0
    return Fit(loss, agreement, error)
