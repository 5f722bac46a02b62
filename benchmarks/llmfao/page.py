"""The worked page, every number of it computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.llmfao.majority import LEAST, Agreement, agreements
from benchmarks.llmfao.playing import LOW_WEIGHT, Played
from benchmarks.llmfao.reading import AFTER, Collection
from duelwise.answers.scoring import Score
from duelwise.stream.evaluating import OFFLINE, POSTERIOR, Evaluation
from duelwise.stream.source_ratings import Rater

WANTED_LOSS = 0.005  # of held-out log-loss beyond the offline fit
WANTED_LOW = 0.05  # share of votes of low weight
SHOWN = 15  # models

COMMAND = "python -m benchmarks.llmfao FOLDER --page docs/llmfao.md"


def page(data: Collection, plain: Played, rich: Played, weighted: Played, strengths: dict[str, float]) -> str:
    """Markdown: `plain` knows the model alone, `rich` also the answers, `weighted` judges its sources."""
    workers = len({vote.worker for vote in data.votes})
    prompts = len({vote.prompt for vote in data.votes})
    return "\n".join(
        [
            f"# Which of {len(data.models)} models, judged by {workers} people\n",
            f"{len(data.votes):,} recorded votes between two answers to one of {prompts} prompts "
            "([dustalov/llmfao](https://github.com/dustalov/llmfao), CC BY 4.0), taken in by a stream as it "
            f"comes: recipe `live`, no option set. `{COMMAND}` makes this page; FOLDER is a copy of the "
            "collection. The votes are taken in a fixed random order, since the file is sorted by pair.\n",
            'The model is a categorical feature, `encodings={"model": [...]}`: an indicator for each. A '
            f"second stream also sees, after serving, what the answer was like: {', '.join(AFTER)}. A "
            'third knows the model alone and has `sources="weighted"`.\n',
            _foreseen({"model": plain, "model, weighted sources": weighted, "model and answer": rich}),
            _weights(plain, rich),
            _raters(data, plain, rich, weighted),
            _ranking(plain, rich, strengths),
        ]
    )  # fmt: skip


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in [head, ["---"] * len(head), *rows])


def _foreseen(streams: Mapping[str, Played]) -> str:
    rows = [
        [terms, line.name, _loss(line.prequential), _share(line.prequential), _loss(line.held_out),
         _share(line.held_out),
         "" if line.beyond_offline is None
         else f"{line.beyond_offline.mean:+.4f} ± {line.beyond_offline.standard_error:.4f}"]
        for terms, played in streams.items()
        for line in played.evaluation.lines
    ]  # fmt: skip
    said = "\n".join(
        f"- {terms}: {_verdict(found)}"
        for terms, found in ((terms, played.evaluation) for terms, played in streams.items())
    )
    usual = streams["model"].evaluation
    head = ("terms", "foreseen by", "log-loss", "winners", "held-out log-loss", "held-out winners", "beyond")
    return (
        "## How well votes are foreseen\n"
        "*Log-loss* and *winners*: each vote foreseen just before it was learned from. *Held-out*: foreseen "
        f"without the votes of its fold ({usual.folds}). *Offline fit*: a logistic model with the "
        "same terms, fitted to all other folds at once; *beyond* is the held-out log-loss less that fit's, "
        f"vote by vote. A coin's log-loss is {usual.log_loss_of_a_coin:.4f}. Ties count half in "
        "the log-loss and name no winner. Standard errors are clustered by rater.\n\n"
        f"{_table(head, rows)}\n{said}\n"
    )


def _verdict(found: Evaluation) -> str:
    lines = {line.name: line for line in found.lines}
    offline, parts = lines[OFFLINE].held_out, []
    for name in ("live", POSTERIOR):
        line = lines[name]
        if line.beyond_offline is None or line.held_out is None or offline is None:
            continue
        loss = line.beyond_offline.mean
        close = "within" if loss <= WANTED_LOSS else f"**{loss - WANTED_LOSS:.4f} more than**"
        points = 100 * ((line.held_out.accuracy or 0.0) - (offline.accuracy or 0.0))
        parts.append(f"{name}: {loss:+.4f}, {close} {WANTED_LOSS}; winners {points:+.1f} points")
    return "; ".join(parts) + "."


def _weights(plain: Played, rich: Played) -> str:
    def said(played: Played) -> str:
        verdict = "under" if played.low_weight < WANTED_LOW else "**not under**"
        return f"{100 * played.low_weight:.2f} % ({verdict} {100 * WANTED_LOW:.0f} %)"

    return (
        "## What votes count\n"
        f"Votes with a weight below {LOW_WEIGHT}: {said(plain)} with the model alone, {said(rich)} with the "
        "answer. The answers (ranking, intervals, raters) count every vote alike.\n"
    )


def _raters(data: Collection, plain: Played, rich: Played, weighted: Played) -> str:
    checked = agreements(data.votes)
    near = [one for one in checked if one.near_chance]
    flags = [{one.source: one for one in played.raters} for played in (plain, rich)]
    found = sum(flags[1][one.worker].flag in BAD for one in near)
    others = sum(one.flag in BAD for one in rich.raters if one.source not in {each.worker for each in near})
    left_out = sorted((one.source for one in weighted.raters if one.distrusted), key=_natural)
    rows = [_rater(one, flags[0][one.worker], flags[1][one.worker]) for one in near]
    head = ("rater", "votes compared", "agree %", "z", "reliability", "flag", "flag by the model alone")
    return (
        "## Whom to trust\n"
        f"A check without any model: of {len(checked)} raters with at least {LEAST} votes that the majority "
        f"of others on the same two answers can be held against, {len(near)} agree with it less than all "
        f"raters by more than three standard errors. The stream that knows the answers flags {found} of "
        f"these {len(near)}, and {others} of the other {len(rich.raters) - len(near)} raters.\n\n"
        f"{_table(head, rows)}\nWith weighted sources the stream leaves out the votes of "
        f"{len(left_out)} raters: {', '.join(left_out) or 'none'}.\n"
    )


def _natural(name: str) -> tuple[int, str]:
    """Numbers by their size."""
    return (int(name), "") if name.isdigit() else (0, name)


BAD = ("at chance", "against", "one-sided")


def _rater(one: Agreement, plain: Rater, rich: Rater) -> list[str]:
    reliability = f"{rich.reliability:.2f} [{rich.low:.2f}, {rich.high:.2f}]"
    return [
        one.worker, str(one.compared), f"{100 * one.share:.0f}", f"{one.z:.1f}", reliability,
        rich.flag or "none", plain.flag or "none",
    ]  # fmt: skip


def _ranking(plain: Played, rich: Played, strengths: dict[str, float]) -> str:
    usual = _places(strengths)
    shown = {item.id: item.rank for item in plain.ranking.items}
    names = list(strengths)
    apart = np.abs(np.array([usual[name] - shown[name] for name in names]))
    alike = float(np.corrcoef([usual[name] for name in names], [shown[name] for name in names])[0, 1])
    adjusted = {} if rich.adjusted is None else {item.id: item.rank for item in rich.adjusted.items}
    rows = [
        [str(item.rank), item.id, f"{item.utility:.2f}", f"{item.low:.2f} to {item.high:.2f}",
         f"{item.rank_low} to {item.rank_high}", f"{100 * item.probability_best:.0f}", str(usual[item.id]),
         str(adjusted.get(item.id, ""))]
        for item in plain.ranking.items[:SHOWN]
    ]  # fmt: skip
    verdict = plain.ranking.settled
    if verdict.settled:
        said = f"{verdict.leader} is settled as the best at level {verdict.level:.0%}."
    else:
        more = "unknown" if verdict.votes_needed is None else f"{verdict.votes_needed:,}"
        said = f"Nothing is settled: {verdict.leader} leads, and about {more} more votes would be needed."
    head = ("rank", "model", "utility", "95 %", "ranks", "P(best) %", "Bradley-Terry", "answers held equal")
    return (
        "## Which is best\n"
        f"The first {len(rows)} by the model alone, with the rank that a plain Bradley-Terry fit of all "
        "votes gives, and the rank when length, time and speed of the answers are held equal. Over all "
        f"{len(names)} models the ranks of stream and Bradley-Terry correlate by {alike:.4f}; the largest "
        f"difference is {int(apart.max())}. {said}\n\n{_table(head, rows)}"
    )


def _places(strengths: dict[str, float]) -> dict[str, int]:
    order = sorted(strengths, key=lambda name: -strengths[name])
    return {name: place for place, name in enumerate(order, start=1)}


def _loss(score: Score | None) -> str:
    return "" if score is None else f"{score.log_loss.mean:.4f} ± {score.log_loss.standard_error:.4f}"


def _share(score: Score | None) -> str:
    return "" if score is None or score.accuracy is None else f"{100 * score.accuracy:.1f} %"
