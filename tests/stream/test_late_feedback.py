"""Contexts in parts, late, imputed or after a skip; several votes; asks that know of each other."""

from dataclasses import replace

import numpy as np
import pytest
from living import Clock, candidates, vote
from numpy.random import Generator

from duelwise.errors import Conflict, DuelExpired, InvalidInput
from duelwise.storage import Store
from duelwise.stream import Ask, Decision, DecisionStream, Observe, StreamSettings, Tell
from duelwise.stream.folding import fold
from duelwise.stream.logs import StoredLog
from duelwise.stream.repair import verify

SETTINGS = StreamSettings(context_dim=3, post_dim=2, context_ttl_seconds=100.0)


@pytest.fixture
def stream(store: Store, clock: Clock):
    with DecisionStream.create(store, "meals", SETTINGS, clock=clock) as made:
        yield made


def assert_replays(stream: DecisionStream, store: Store) -> None:
    """The log alone gives the same state, and the tables say what the log says."""
    stream.wait_for_background()
    state = stream.snapshot_state()
    row = store.stream(stream.name)
    assert fold(stream.settings, StoredLog(store, row.id), upto=row.head).snapshot().payload == state
    assert tuple(verify(store, stream.name)) == ()


def test_a_context_comes_in_parts_before_and_after_the_vote(
    stream: DecisionStream, store: Store, rng: Generator
) -> None:
    ticket = stream.ask(candidates(rng)).ticket
    assert stream.observe(ticket, [0.4, None], None).state == "asked"
    assert stream.tell(ticket, "left").state == "voted"
    assert not stream.observe(ticket, {"y0": 0.4}).changed
    with pytest.raises(Conflict, match="already has another context"):
        stream.observe(ticket, [0.5, None])
    assert stream.observe(ticket, [None, 0.1], [0.2, float("nan")]).state == "voted"
    assert stream._replica.folded.learner.votes[0] == 0
    assert stream.observe(ticket, right={"y1": -1.0}).state == "told"
    assert stream._replica.folded.learner.votes[0] == 1
    assert_replays(stream, store)


@pytest.mark.parametrize(("context_ttl", "state"), [(100.0, "told"), (2000.0, "expired")])
def test_a_vote_that_waited_longer_than_both_limits_goes_one_way(
    store: Store, clock: Clock, rng: Generator, context_ttl: float, state: str
) -> None:
    settings = replace(SETTINGS, context_ttl_seconds=context_ttl, vote_ttl_seconds=1000.0)
    with DecisionStream.create(store, "meals", settings, clock=clock) as stream:
        ticket = stream.ask(candidates(rng)).ticket
        stream.tell(ticket, "left")
        clock.now += 3000
        stream.ask(candidates(rng))
        assert stream.ticket(ticket).state == state
        assert_replays(stream, store)


def test_a_vote_waits_for_its_context_until_it_is_imputed(
    stream: DecisionStream, store: Store, clock: Clock, rng: Generator
) -> None:
    early, late = (stream.ask(candidates(rng)).ticket for _ in range(2))
    stream.observe(early, [0.4, None])
    stream.tell(early, "right")
    clock.pass_slowly(stream, 101)
    stream.ask(candidates(rng))  # any request sweeps
    assert stream.ticket(early).state == "told"
    assert [line.kind for line in stream.ticket(early).history][-1] in ("told", "observed")
    assert stream._replica.folded.learner.votes[0] == 1
    assert stream.tell(late, "left").state == "told"  # nobody waits for a context that long
    assert stream.observe(late, [1, 2], [3, 4]).changed  # and yet it teaches
    assert not stream.observe(late, [1, 2], [3, 4]).changed
    assert_replays(stream, store)


def test_a_context_after_a_skip_teaches(stream: DecisionStream, store: Store, rng: Generator) -> None:
    ticket = stream.ask(candidates(rng)).ticket
    stream.tell(ticket, "skip")
    before = stream._replica.folded.learner.post_serving.snapshot()
    assert stream.observe(ticket, [1.0, 2.0], [3.0, None]).changed
    after = stream._replica.folded.learner.post_serving.snapshot()
    assert any(not np.array_equal(before[name], after[name]) for name in before if name in after)
    assert_replays(stream, store)


def test_several_raters_vote_on_one_duel(stream: DecisionStream, store: Store, rng: Generator) -> None:
    ticket = stream.ask(candidates(rng), votes_wanted=3).ticket
    stream.observe(ticket, [1, 2], [3, 4])
    ann = stream.tell(ticket, "left", source="ann")
    assert (ann.state, ann.changed) == ("observed", True)
    again = stream.tell(ticket, "left", source="ann")
    assert (again.vote, again.changed) == (ann.vote, False)
    with pytest.raises(Conflict, match="another vote from this source"):
        stream.tell(ticket, "right", source="ann")
    bob = stream.tell(ticket, "left", source="bob")
    assert bob.vote != ann.vote
    assert stream.tell(ticket, "skip", source="cy").state == "observed"
    assert stream.tell(ticket, "tie", source="dee").state == "told"
    with pytest.raises(Conflict, match="already has its 3 votes"):
        stream.tell(ticket, "left", source="eve")
    shown = stream.ticket(ticket)
    assert shown.wanted == 3
    assert [(vote.winner, vote.source) for vote in shown.votes] == [
        ("left", "ann"), ("left", "bob"), ("tie", "dee"),
    ]  # fmt: skip
    assert stream._replica.folded.learner.votes[0] == 3
    assert stream.retract(ticket, vote=bob.vote).state == "told"
    stream.wait_for_background()
    assert stream._replica.folded.learner.votes[0] == 2
    assert stream.retract(ticket, source="dee").state == "told"
    with pytest.raises(Conflict, match="no such vote"):
        stream.retract(ticket, source="dee")
    assert stream.retract(ticket, vote=ann.vote).state == "retracted"
    stream.wait_for_background()
    assert stream._replica.folded.learner.votes[0] == 0
    assert_replays(stream, store)


def test_another_rater_is_never_the_same_vote(stream: DecisionStream, rng: Generator) -> None:
    ticket = stream.ask(candidates(rng)).ticket
    stream.tell(ticket, "left", source="ann")
    with pytest.raises(Conflict, match="from other sources"):
        stream.tell(ticket, "left", source="bob")
    with pytest.raises(InvalidInput, match="votes_wanted is 0"):
        stream.ask(candidates(rng), votes_wanted=0)


@pytest.mark.parametrize("estimate", ["one-pass", "full-mle"])
def test_a_vote_that_taught_while_its_duel_was_open_is_unlearned(
    store: Store, clock: Clock, rng: Generator, estimate: str
) -> None:
    declared = {name: [-5, 5] for name in SETTINGS.feature_names}
    settings = replace(SETTINGS, options={"estimate": estimate}, ranges=declared)
    with DecisionStream.create(store, "meals", settings, clock=clock) as stream:
        vote(stream, rng, source="bob")
        before = stream._replica.folded.learner.theta.copy()
        if estimate == "one-pass":  # a vote teaches, and another rater is waited for
            ticket = stream.ask(candidates(rng), votes_wanted=2).ticket
            stream.observe(ticket, [1, 2], [3, 4])
        else:  # a vote teaches before its context
            ticket = stream.ask(candidates(rng)).ticket
        stream.tell(ticket, "left", source="ann")
        assert not np.allclose(stream._replica.folded.learner.theta, before)
        stream.retract(ticket)
        stream.wait_for_background()
        np.testing.assert_allclose(stream._replica.folded.learner.theta, before, atol=1e-9)
        assert_replays(stream, store)


def test_a_source_is_retracted_though_a_duel_with_some_of_its_votes_expired(
    stream: DecisionStream, store: Store, clock: Clock, rng: Generator
) -> None:
    half, whole = stream.ask(candidates(rng), votes_wanted=2).ticket, stream.ask(candidates(rng)).ticket
    for ticket in (half, whole):
        stream.tell(ticket, "left", source="ann")
    clock.now += 10
    assert stream.expire(5) == 2
    later = stream.ask(candidates(rng)).ticket
    stream.tell(later, "left", source="ann")
    assert stream.retract_source("ann") == 1
    assert [stream.ticket(ticket).state for ticket in (half, whole, later)] == [
        "expired", "expired", "retracted",
    ]  # fmt: skip
    assert_replays(stream, store)


def test_a_rater_who_comes_late_to_a_duel_with_fewer_votes_than_it_wants_is_told_so(
    stream: DecisionStream, clock: Clock, rng: Generator
) -> None:
    ticket = stream.ask(candidates(rng), votes_wanted=3).ticket
    stream.observe(ticket, [1.0, 2.0], [3.0, 4.0])
    stream.tell(ticket, "left", source="ann")
    clock.pass_slowly(stream, SETTINGS.vote_ttl_seconds + 1)
    for source in ("ben", "cid"):
        with pytest.raises(DuelExpired, match="The vote was not recorded"):
            stream.tell(ticket, "left", source=source)
    assert stream.ticket(ticket).state == "told"
    assert not stream.tell(ticket, "left", source="ann").changed


def test_a_source_of_many_votes_is_retracted_everywhere(
    stream: DecisionStream, store: Store, rng: Generator
) -> None:
    alone, shared = stream.ask(candidates(rng)).ticket, stream.ask(candidates(rng), votes_wanted=2).ticket
    for ticket in (alone, shared):
        stream.observe(ticket, [1, 2], [3, 4])
        stream.tell(ticket, "left", source="a_b%")
    stream.tell(shared, "right", source="axbb")
    assert stream.retract_source("a_b%") == 2
    stream.wait_for_background()
    assert stream.ticket(alone).state == "retracted"
    assert [vote.source for vote in stream.ticket(shared).votes] == ["axbb"]
    assert stream._replica.folded.learner.votes[0] == 1
    assert_replays(stream, store)


def test_asks_of_one_transaction_know_of_each_other(
    stream: DecisionStream, store: Store, rng: Generator
) -> None:
    offered = candidates(rng)
    duels = [answer for answer in stream.run([Ask(offered)] * 10) if isinstance(answer, Decision)]
    assert len(duels) == 10
    pairs = {frozenset((duel.left.id, duel.right.id)) for duel in duels}
    assert len(pairs) > 1
    assert [duel.model_version for duel in duels] == sorted({duel.model_version for duel in duels})
    assert_replays(stream, store)


def test_a_transaction_that_fails_takes_its_reservations_back(
    stream: DecisionStream, store: Store, rng: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream.ask(candidates(rng))
    before = stream.snapshot_state()
    offered = candidates(rng)

    def fail(*_: object) -> None:
        raise InvalidInput("no room")

    with monkeypatch.context() as patched:
        patched.setattr("duelwise.storage.writer.Writer.commit", fail)
        with pytest.raises(InvalidInput):
            stream.run([Ask(offered), Ask(offered), Ask(offered)])
    assert stream.snapshot_state() == before
    stream.ask(offered)
    assert_replays(stream, store)


def test_two_processes_agree_on_late_and_repeated_feedback(
    store: Store, clock: Clock, rng: Generator
) -> None:
    one = DecisionStream.create(store, "meals", SETTINGS, clock=clock)
    other = DecisionStream.open(store, "meals", clock=clock)
    for i in range(30):
        here, there = (one, other) if i % 2 else (other, one)
        ticket = here.ask(candidates(rng), votes_wanted=1 + i % 3).ticket
        there.run([Observe(ticket, [0.1 * i, None], None), Tell(ticket, "left", "a")])
        here.run([Tell(ticket, "right", "b"), Observe(ticket, [None, 1.0], [2.0, 3.0])])
    assert one.snapshot_state() == other.snapshot_state()
    assert_replays(one, store)
    for stream in (one, other):
        stream.close()
