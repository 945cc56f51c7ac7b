"""Train a network on games with scores."""

from __future__ import annotations

import importlib.util
import math
import os
from pathlib import Path
from typing import Any

from usi.commands._arguments import add_variant, count

SHARE_TEXT = "share of the score in the target, the rest is the game's result; a second number: at ply 200"


def add_parser(subparsers: Any) -> None:
    """The command line of `narikin train`."""
    parser = subparsers.add_parser("train", help="train a network on games with scores", description=__doc__)
    parser.add_argument(
        "--data",
        nargs="+",
        type=Path,
        required=True,
        metavar="FILE",
        help="self-play archives, text games (.txt, .txt.xz; a siblings file after its games), .bin, .hcpe",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="network file to write (nn.bin format)")
    add_variant(parser)
    parser.add_argument("--features", default="kp", choices=("kp", "halfkp"))
    parser.add_argument("--width", type=int, default=256, help="outputs of the first layer a side, a multiple of 64")
    _add_data_options(parser.add_argument_group("data"))
    _add_plan_options(parser.add_argument_group("training"))
    group = parser.add_argument_group("files")
    group.add_argument("--checkpoint", type=Path, metavar="FILE", help="state after every epoch (default: OUT.npz)")
    group.add_argument("--resume", action="store_true", help="go on from the checkpoint if it exists")
    group.add_argument("--start", type=Path, metavar="CHECKPOINT", help="begin with the parameters of another run")
    group.add_argument("--cache", type=Path, metavar="FOLDER", help="keep the prepared positions here for other runs")
    group.add_argument("--plot", type=Path, metavar="FILE", help="draw the losses (needs matplotlib)")


def _add_data_options(group: Any) -> None:
    group.add_argument("--weights", nargs="+", type=float, default=[], metavar="W", help="weight of each data file")
    group.add_argument(
        "--tempo", nargs="+", type=float, default=[0.0], metavar="CP", help="what scores favour the side to move by"
    )
    group.add_argument(
        "--limit", type=count(0, 32767), default=3000, metavar="CP", help="leave out larger scores (default 3000)"
    )
    group.add_argument("--leaf", action="store_true", help="use the end of the quiescence line of each position")
    group.add_argument(
        "--window", type=count(0), default=300, metavar="CP", help="siblings: largest loss or gain by the move"
    )
    group.add_argument("--smooth", action="store_true", help="average neighbouring scores of a game")
    group.add_argument("--score-share", nargs="+", type=float, default=[1.0], metavar="S", help=SHARE_TEXT)
    group.add_argument("--validation", type=float, default=0.05, metavar="S", help="share of the first file's games")
    group.add_argument("--no-mirror", action="store_true", help="do not reflect positions left to right")


def _add_plan_options(group: Any) -> None:
    group.add_argument("--epochs", type=count(1), default=6)
    group.add_argument("--batch", type=int, default=8192, help="positions a step, a multiple of 256")
    group.add_argument("--rate", type=float, default=2e-3, help="highest learning rate")
    group.add_argument("--king-rate", type=float, default=1.0, help="HalfKP: factor for rows of single king squares")
    group.add_argument("--scale", type=float, default=600.0, metavar="CP", help="centipawns per unit of log odds")
    group.add_argument("--seed", type=count(0), default=1)
    group.add_argument("--threads", type=count(1, 512), default=1)
    group.add_argument(
        "--quantise-from", type=float, default=0.5, metavar="S", help="train with rounded weights from this share on"
    )


def run(arguments: Any) -> int:
    """Train as the command line says."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads would spin beside ours
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from eval.learn import run as learn

    recipe = make_recipe(arguments)
    checkpoint = arguments.checkpoint or arguments.out.with_name(arguments.out.name + ".npz")
    prepare_outputs([path for path in (arguments.out, checkpoint, arguments.plot) if path])
    console = Console()
    columns = (
        TextColumn("step {task.completed:.0f}/{task.total:.0f}"),
        BarColumn(),
        TextColumn("loss {task.fields[loss]:.5f}  {task.fields[speed]:,.0f}/s"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=None, loss=0.0, speed=0.0, visible=False)
        mean = 0.0

        def batch(done: int, total: int, loss: float, positions: int, seconds: float) -> None:
            nonlocal mean
            mean = loss if mean == 0 else mean + (loss - mean) / 50
            speed = positions / seconds
            progress.update(task, completed=done, total=total, loss=mean, speed=speed, visible=True)

        watcher = learn.Watcher(console.print, batch)
        summary = learn.train(recipe, arguments.out, checkpoint, arguments.resume, arguments.cache, watcher)
    if arguments.plot:
        learn.plot(summary.history, arguments.plot)
    console.print(f"{arguments.out}: {summary.network}, trained on {summary.positions:,} positions")
    if summary.integer:
        console.print(
            f"integer network: loss {summary.integer.loss:.5f}, sign {summary.integer.agreement:.1%}, "
            f"mean difference from the float network {summary.rounding_error:.1f} cp"
        )
    return 0


def prepare_outputs(paths: list[Path]) -> None:
    """Make the folders of what will be written, so that hours of training cannot end in an error. Raises OSError."""
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder, not a file")


def check_numbers(arguments: Any) -> None:
    """Raises ValueError for numbers that no training could mean."""
    for name in ("rate", "scale", "king_rate"):
        value = getattr(arguments, name)
        if not 0 < value < math.inf:
            raise ValueError(f"--{name.replace('_', '-')} {value:g} is not a number above 0")
    shares = [("score-share", share) for share in arguments.score_share]
    shares += [("validation", arguments.validation), ("quantise-from", arguments.quantise_from)]
    for name, value in shares:
        if not 0 <= value <= 1:
            raise ValueError(f"--{name} {value:g} is not a share from 0 to 1")
    for weight in arguments.weights:
        if not 0 <= weight < math.inf:
            raise ValueError(f"--weights {weight:g} is not a weight of 0 or more")
    for name in ("weights", "tempo"):
        if len(getattr(arguments, name)) > len(arguments.data):
            raise ValueError(
                f"--{name} has {len(getattr(arguments, name))} numbers for {len(arguments.data)} data files"
            )


def make_recipe(arguments: Any) -> Any:
    """The Recipe that parsed arguments describe. Raises ValueError for what cannot be."""
    from eval.learn.dataset import Choice
    from eval.learn.model import Shape
    from eval.learn.run import Recipe
    from eval.learn.trainer import Plan

    check_numbers(arguments)
    for path in arguments.data:
        if not path.is_file():
            raise ValueError(f"no data file {path}")
    if arguments.plot and importlib.util.find_spec("matplotlib") is None:
        raise ValueError("a plot needs matplotlib: pip install narikin[train]")
    plan = Plan(
        epochs=arguments.epochs,
        batch=arguments.batch,
        rate=arguments.rate,
        king_rate=arguments.king_rate,
        mirror=not arguments.no_mirror,
        seed=arguments.seed,
        threads=arguments.threads,
        quantise_from=arguments.quantise_from,
    )
    shares = arguments.score_share
    return Recipe(
        data=tuple(arguments.data),
        shape=Shape(arguments.features, arguments.width, arguments.scale),
        plan=plan,
        variant=arguments.variant,
        choice=Choice(arguments.limit, arguments.leaf, arguments.window),
        weights=tuple(arguments.weights),
        tempo=tuple(arguments.tempo),
        smooth=arguments.smooth,
        score_share=(shares[0], shares[-1]),
        validation=arguments.validation,
        start=arguments.start,
    )
