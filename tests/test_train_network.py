"""The trainer: gradients, repeatability, learning, rounding, and the command."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sample_games import random_games

from engine.rules.tables import variant_tables
from eval.learn import archive, quantise
from eval.learn.dataset import SAMPLE, Choice, Replayer, first_of_each
from eval.learn.lanes import add_product
from eval.learn.model import Model, Shape
from eval.learn.run import Recipe, Watcher, targets_of, train
from eval.learn.steps import adam_dense
from eval.learn.trainer import Plan, Trainer, fit
from eval.network_file import read_network, write_network
from usi.main import main

BATCH = 256
TABLES = variant_tables("shogi")


@pytest.fixture(scope="module")
def samples() -> np.ndarray:
    made, keys = Replayer("shogi", Choice()).games(random_games("shogi", 60, 120))
    made = made[first_of_each(keys)]
    return made[np.random.default_rng(1).permutation(len(made))[: 12 * BATCH]]


def goal(samples: np.ndarray) -> np.ndarray:
    return (1 / (1 + np.exp(-samples["score"] / 600.0))).astype(np.float32)


def trainer_of(features: str, threads: int = 1, **plan: Any) -> Trainer:
    settings = {"batch": BATCH, "epochs": 1, "quantise_from": 1.0, "threads": threads} | plan
    return Trainer(Model(Shape(features, 64), seed=3), Plan(**settings), TABLES)


def loss_of(model: Model, inputs: np.ndarray, targets: np.ndarray, swap: np.ndarray) -> float:
    """Cross-entropy above the targets' entropy by the plain float64 network."""
    logits = quantise.float_sums(model, inputs, swap)[-1][:, 0]
    p = 1 / (1 + np.exp(-logits))
    t = targets.astype(np.float64)
    return float(np.mean(t * np.log(t / p) + (1 - t) * np.log((1 - t) / (1 - p))))


def test_product_equals_numpy() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((13, 37), dtype=np.float32), rng.random((37, 96), dtype=np.float32)
    c = np.ones((13, 96), dtype=np.float32)
    add_product(a.ctypes.data, 37, 1, b.ctypes.data, 96, c.ctypes.data, 96, 13, 96, 37)
    assert np.allclose(c, 1 + a @ b, rtol=1e-5)
    turned = np.zeros((37, 96), dtype=np.float32)
    add_product(a.ctypes.data, 1, 37, c.ctypes.data, 96, turned.ctypes.data, 96, 37, 96, 13)
    assert np.allclose(turned, a.T @ c, rtol=1e-5)


@pytest.mark.parametrize("features", ["kp", "halfkp"])
def test_gradients_equal_finite_differences(features: str, samples: np.ndarray) -> None:
    trainer = trainer_of(features)
    model = trainer.model
    rng = np.random.default_rng(7)
    for table in (model.rows, model.relatives):  # so that no parameter is at a symmetric point
        table[:, 0] += rng.normal(0, 0.02, table[:, 0].shape)
    inputs, targets = np.ascontiguousarray(samples["inputs"][:BATCH]), goal(samples[:BATCH])
    before = {name: getattr(model, name).copy() for name in ("rows", "pieces", "relatives", "bias", "dense")}
    trainer.train_batch(
        inputs, np.arange(BATCH), np.zeros(BATCH, np.uint8), targets, np.ones(BATCH, np.float32), 1e-3, False
    )
    gradients = {name: getattr(model, name)[:, 1] / 0.1 for name in ("rows", "pieces", "relatives", "bias")}
    gradients["dense"] = model.moments[0] / 0.1
    for name, values in before.items():
        getattr(model, name)[:] = values
    names = ["rows", "bias", "dense"] + (["pieces", "relatives"] if features == "halfkp" else [])
    checked = 0
    for name in names:
        parameters = getattr(model, name) if name == "dense" else getattr(model, name)[:, 0]
        gradient = gradients[name]
        places = np.flatnonzero(np.abs(gradient) > 1e-3 * np.abs(gradient).max())
        for place in rng.choice(places, 6):
            index = np.unravel_index(place, parameters.shape)
            numeric = slope(model, parameters, index, inputs, targets, trainer.swap)
            assert gradient[index] == pytest.approx(numeric, rel=0.02, abs=2e-5), (name, index)
            checked += 1
    assert checked == 6 * len(names)


def slope(
    model: Model, parameters: np.ndarray, index: Any, inputs: np.ndarray, targets: np.ndarray, swap: np.ndarray
) -> float:
    step = 1e-4  # small, so that hardly any activation crosses the ends of its range
    kept = parameters[index]
    losses = []
    for moved in (kept + step, kept - step):
        parameters[index] = moved
        losses.append(loss_of(model, inputs, targets, swap))
    parameters[index] = kept
    return (losses[0] - losses[1]) / (2 * step)


@pytest.mark.parametrize("features", ["kp", "halfkp"])
def test_forward_pass_equals_plain_network_with_and_without_mirror(features: str, samples: np.ndarray) -> None:
    trainer = trainer_of(features)
    inputs = np.ascontiguousarray(samples["inputs"][:300])
    wanted = quantise.float_sums(trainer.model, inputs, trainer.swap)[-1][:, 0]
    assert np.allclose(trainer.predict(inputs), wanted, atol=1e-4)
    trainer.batch_gradients(
        inputs, np.arange(BATCH), np.ones(BATCH, np.uint8), goal(samples[:BATCH]), np.ones(BATCH, np.float32), False
    )
    reflected = trainer.mirror[inputs[:BATCH]]
    wanted = quantise.float_sums(trainer.model, reflected, trainer.swap)[-1][:, 0]
    assert np.allclose(trainer.logits, wanted, atol=1e-4)


def trained(features: str, samples: np.ndarray, threads: int = 1, **plan: Any) -> Trainer:
    trainer = trainer_of(features, threads, **({"rate": 5e-3, "warm_up": 5, "epochs": 6} | plan))
    inputs, targets = np.ascontiguousarray(samples["inputs"]), goal(samples)
    for number in range(trainer.plan.epochs):
        for _ in trainer.epoch(number, inputs, targets, np.ones(len(targets), np.float32)):
            pass
    return trainer


@pytest.mark.parametrize("features", ["kp", "halfkp"])
def test_one_seed_gives_one_network_on_any_number_of_threads(features: str, samples: np.ndarray) -> None:
    one, two, other = (
        trained(features, samples, **settings) for settings in ({}, {"threads": 2}, {"seed": 2, "epochs": 6})
    )
    for name in ("rows", "pieces", "relatives", "bias", "dense"):
        assert np.array_equal(getattr(one.model, name), getattr(two.model, name)), name
    assert not np.array_equal(one.model.dense, other.model.dense)


@pytest.mark.parametrize("features", ["kp", "halfkp"])
def test_material_is_learned(features: str, samples: np.ndarray) -> None:
    inputs = np.ascontiguousarray(samples["inputs"])
    start = fit(trainer_of(features).predict(inputs), goal(samples), 600)
    end = fit(trained(features, samples).predict(inputs), goal(samples), 600)
    assert end.loss < start.loss / 4
    assert end.agreement > 0.9 > start.agreement


@pytest.mark.parametrize("features", ["kp", "halfkp"])
def test_network_file_computes_what_training_computed(features: str, samples: np.ndarray, tmp_path: Path) -> None:
    trainer = trained(features, samples, quantise_from=0.3)
    inputs = np.ascontiguousarray(samples["inputs"][:400])
    seen = quantise.seen_rows(features, samples["inputs"], trainer.swap, trainer.mirror)
    network = quantise.quantise(trainer.model, seen)
    write_network(tmp_path / "nn.bin", network)
    stored = read_network(tmp_path / "nn.bin")
    scores = quantise.integer_scores(stored, inputs, trainer.swap)
    assert np.abs(scores - trainer.predict(inputs, quantise=True) * 600).max() < 25
    assert np.abs(scores - trainer.predict(inputs, quantise=True) * 600).mean() < 2
    assert not stored.rows[~seen].any() and not stored.rows[0].any()
    assert stored.rows[seen].any(axis=1).mean() > 0.9


def test_folding_takes_the_mean_error_out(samples: np.ndarray) -> None:
    trainer = trained("kp", samples)
    inputs = np.ascontiguousarray(samples["inputs"])
    seen = quantise.seen_rows("kp", inputs, trainer.swap, trainer.mirror)
    network = quantise.quantise(trainer.model, seen)
    floats = trainer.predict(inputs) * 600
    before = quantise.integer_scores(network, inputs, trainer.swap) - floats
    quantise.fold_errors(network, trainer.model, inputs, trainer.swap)
    after = quantise.integer_scores(network, inputs, trainer.swap) - floats
    assert abs(after.mean()) < min(abs(before.mean()), 3)


def test_parameters_stay_within_the_integers() -> None:
    trainer = trainer_of("kp")
    weights, limits = trainer.model.part("w1"), trainer.model.part("w1", trainer.bounds)
    weights[:] = limits - 0.01
    gradients = np.where(np.arange(len(trainer.bounds)) % 2, -1, 1).astype(np.float32)[None]
    for _ in range(50):
        adam_dense(trainer.model.dense, trainer.model.moments, gradients, trainer.bounds, 0.02)
    assert np.all(np.abs(trainer.model.dense) <= trainer.bounds)
    assert np.mean(weights == limits) == 0.5
    assert np.all(np.abs(quantise.quantise(trainer.model, np.zeros(1710, bool)).stacks[0].weights_1) <= 127)


def recipe_for(path: Path, **plan: Any) -> Recipe:
    settings = {"batch": BATCH, "epochs": 4, "rate": 5e-3, "warm_up": 5} | plan
    return Recipe((path,), Shape("kp", 64), Plan(**settings))


def test_interrupted_run_resumes_to_the_same_network(tmp_path: Path) -> None:
    archive.append_games(tmp_path / "games", random_games("shogi", 20, 80))
    whole, stopped = tmp_path / "whole.bin", tmp_path / "stopped.bin"
    recipe = recipe_for(tmp_path / "games")
    train(recipe, whole)
    checkpoint = tmp_path / "state.npz"

    class Stop(Exception):
        pass

    def stop(text: str) -> None:
        if text.startswith("epoch 3"):
            raise Stop

    with pytest.raises(Stop):
        train(recipe, stopped, checkpoint, watcher=Watcher(note=stop))
    summary = train(recipe, stopped, checkpoint, resume=True)
    assert len(summary.history) == 4
    assert stopped.read_bytes() == whole.read_bytes()


def test_targets_mix_scores_and_results() -> None:
    samples = np.zeros(3, dtype=SAMPLE)
    samples["score"], samples["ply"], samples["result"] = [70, 70, 670], [0, 200, 100], [1, -1, 0]
    recipe = dataclasses.replace(recipe_for(Path("x")), tempo=(70.0,), score_share=(1.0, 0.5))
    e = 1 / (1 + np.exp(-1))
    assert targets_of(samples, recipe) == pytest.approx([0.5, 0.25, 0.75 * e + 0.25 * 0.5], rel=1e-5)


@pytest.mark.parametrize("variant", ["shogi", "minishogi"])
def test_command_trains_and_reports(variant: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    games, out = tmp_path / "games", tmp_path / "new" / "folder" / "nn.bin"
    archive.append_games(games, random_games(variant, 40, 60))
    words = f"train --data {games} --out {out} --variant {variant} --features halfkp --width 64 --epochs 2 --batch 256"
    assert main(words.split()) == 0
    assert read_network(out).variant == variant
    text = " ".join(capsys.readouterr().out.split())
    assert "HalfKP 64x2-32-32" in text and "epoch 2: loss" in text and "mean difference" in text
    assert main([*words.split(), "--resume"]) == 0


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--data none.txt", "none.txt"),
        ("--data {games} --width 100", "multiple of 64"),
        ("--data {games} --batch 100", "multiple of 256"),
        ("--data {games} --batch 1048576", "less than one batch"),
        ("--data {games} --start {games}", "no checkpoint"),
        ("--data {games} --variant judkins", "judkins"),
        ("--data {games} --rate nan", "--rate nan"),
        ("--data {games} --scale 0", "--scale 0"),
        ("--data {games} --score-share 5", "--score-share 5"),
        ("--data {games} --weights 1 2", "--weights has 2"),
        ("--data {games} --checkpoint {folder}", "is a folder"),
    ],
)
def test_bad_requests_are_explained(
    words: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    games = tmp_path / "games"
    archive.append_games(games, random_games("shogi", 8, 60))
    line = f"train --out {tmp_path / 'nn.bin'} --batch 256 {words.format(games=games, folder=tmp_path)}"
    assert main(line.split()) != 0
    assert complaint in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "nn.bin").exists()
