"""`duelwise advise` and `duelwise bounds`: what the theory says of your sizes."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from duelwise.cli.app import app
from duelwise.cli.given import given_options, option
from duelwise.cli.outputs import table_of
from duelwise.cli.serve import DEFAULT_STORE, StoreOption, opened
from duelwise.errors import InvalidInput, require
from duelwise.theory.advice import Advice
from duelwise.theory.advice import advise as advise_for
from duelwise.theory.bounds import Sizes
from duelwise.theory.links import least_slope

Dim = Annotated[int, typer.Option(help="d_x: features known before serving.")]
PostDim = Annotated[int, typer.Option(help="d_y: features known after serving.")]
Rounds = Annotated[int, typer.Option(help="T: rounds.")]
Lies = Annotated[float, typer.Option(help="C: votes that may be lies.")]
DelayBudget = Annotated[float, typer.Option(help="Λ: the sum of all delays, in rounds.")]
MeanDelay = Annotated[float, typer.Option(help="μ: the mean delay, in rounds.")]


@app.command()
def advise(
    context: typer.Context,
    dim: Dim = 10, post_dim: PostDim = 0, rounds: Rounds = 2000, lies: Lies = 0.0,
    delay_budget: DelayBudget = 0.0, mean_delay: MeanDelay = 0.0,
    norm_bound: Annotated[float, typer.Option(help="M: how far utilities may be apart.")] = 1.0,
    curvature: Annotated[float | None, typer.Option(help="κ; by default ġ(ML).")] = None,
    feature_bound: Annotated[float, typer.Option(help="L: the longest difference of two candidates.")] = 1.0,
    stream: Annotated[
        str | None, typer.Option(help="Take sizes and delays from the log of this stream.")
    ] = None,
    store: StoreOption = DEFAULT_STORE,
) -> None:  # fmt: skip
    """Say which α and c follow from your budgets, what regret to expect and which assumption does not fit."""
    given = given_options(context)
    if stream is not None:
        _refuse_beside_a_stream(given)
        sizes, feature_bound = _of_stream(stream, store, lies=lies, norm_bound=norm_bound)
    else:
        if "store" in given:
            raise InvalidInput(
                "--store is given, but no stream of it is named. Expected --stream with it: add it, or "
                "leave out --store."
            )
        sizes = Sizes(
            context_dim=dim, post_dim=post_dim, horizon=rounds, corruption_budget=lies,
            delay_budget=delay_budget, mean_delay=mean_delay, norm_bound=norm_bound,
            curvature=least_slope(norm_bound, feature_bound) if curvature is None else curvature,
        )  # fmt: skip
    console, told = Console(), advise_for(sizes, feature_bound=feature_bound)
    console.print(_table(sizes, told))
    for text in told.broken:
        console.print(f"- {text}", soft_wrap=True)


@app.command()
def bounds(
    dim: Dim = 20,
    rounds: Rounds = 2000,
    lies: Lies = 25.0,
    delay_budget: DelayBudget = 10_000.0,
    mean_delay: MeanDelay = 100.0,
) -> None:
    """Compute Table 1 of the paper, the leading terms of fourteen bounds, for your sizes."""
    require("pyarrow", extra="lab", purpose="Tables of the paper")
    from duelwise.lab.report.tables import Budgets, bounds_table

    made = bounds_table(
        Budgets(
            dim=dim, horizon=rounds, corruption_budget=lies, delay_budget=delay_budget, mean_delay=mean_delay
        )
    )
    Console().print(table_of(made.head, made.rows, title=made.title))


def _refuse_beside_a_stream(given: dict[str, object]) -> None:
    """The log says all but the lies and M."""
    for name, value in given.items():
        if name not in ("stream", "store", "lies", "norm_bound"):
            raise InvalidInput(
                f"{option(name)} is {value}, but --stream takes that from the log. Expected --lies, "
                "--norm-bound or --store with it: leave it out, or leave out --stream."
            )


def _of_stream(name: str, store: str, *, lies: float, norm_bound: float) -> tuple[Sizes, float]:
    from duelwise.stream.logs import StoredLog
    from duelwise.stream.settings import StreamSettings
    from duelwise.theory.stream_log import read_log

    with opened(store) as at:
        row = at.stream(name)
        settings = StreamSettings.from_json(row.settings)
        log = StoredLog(at, row.id).events(after=0, upto=row.head)
        found = read_log(
            log, context_dim=settings.context_dim, post_dim=settings.post_dim,
            ranges=settings.start_scaled().ranges,
        )  # fmt: skip
    Console(markup=False).print(
        f"{name}: {found.duels} duels, {found.votes} votes, {found.mean_delay:.1f} rounds late on average, "
        f"at most {found.most_pending} out at once, ‖Δz‖ up to {found.feature_bound:.3g}"
        + (f", φ̂'s error falls like t^-{found.learning_rate:.2f}." if found.learning_rate > 0.0 else ".")
    )
    return found.sizes(corruption_budget=lies, norm_bound=norm_bound), found.feature_bound


def _table(sizes: Sizes, told: Advice) -> Table:
    rows = (
        ("α (clip)", told.alpha, "√d/(C + D), D = max(√Λ, μ)"),
        ("κ (curvature)", sizes.curvature, "ġ(ML), if not given"),
        ("votes out at once, at most", sizes.pending, "√(2Λ), or μ + √(2μ ln(T/δ)) + ln(T/δ)/3"),
        ("β_T", told.radius, "corrected radius, δ = 0.05"),
        ("c_T (exploration_width)", told.width, "2β_T; 0.1 to 1 in practice: docs/how-to-choose.md"),
        ("regret, at most", told.upper.total, "sum of the three below"),
        ("  learning Θ", told.upper.statistical, "d√T"),
        ("  lies and delays", told.upper.clipped, "d(C + D)"),
        ("  learning φ", told.upper.mapping, "√(d d_x) T^{1-a}"),
        ("one more lie adds", told.one_more_lie, "to the bound"),
        ("a tenth more delay adds", told.longer_delay, "to the bound"),
        ("no method avoids: learning", told.lower.statistical, "d√T/28 on its hard instance"),
        ("no method avoids: lies", told.lower.corruption, "dC/8"),
        ("no method avoids: delays", max(told.lower.adversarial, told.lower.stochastic), "the blind phase"),
    )
    lines = [
        (what, f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}", source)
        for what, value, source in rows
    ]
    return table_of(("what", "value", "from"), lines)
