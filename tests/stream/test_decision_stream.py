"""A stream as its caller sees it."""

from threading import Thread

import numpy as np
import pytest
from living import SETTINGS, Clock, candidates, live, vote
from numpy.random import Generator

from duelwise.errors import Conflict, DuelExpired
from duelwise.storage import Store
from duelwise.stream import Ask, Decision, DecisionStream, Observe, Receipt, Retract, StreamSettings, Tell
from known import inside, known


def test_a_duel_from_question_to_vote(stream: DecisionStream, rng: Generator) -> None:
    offered = candidates(rng)
    duel = stream.ask(offered)
    assert duel.left != duel.right
    assert {duel.left.id, duel.right.id} <= {one["id"] for one in offered}
    assert offered[duel.left.index]["id"] == duel.left.id
    assert stream.observe(duel.ticket, [1.0, 2.0], [3.0, 4.0]) == Receipt(duel.ticket, "observed", True)
    assert stream.tell(duel.ticket, "left") == Receipt(duel.ticket, "told", True, vote="3")
    assert stream.counts()["told"] == 1
    ticket = stream.ticket(duel.ticket)
    assert (ticket.state, ticket.winner, ticket.left, ticket.right) == ("told", "left", duel.left, duel.right)
    assert [line.kind for line in ticket.history] == ["asked", "observed", "told"]


def test_context_and_vote_come_in_either_order(stream: DecisionStream, rng: Generator) -> None:
    duel = stream.ask(candidates(rng))
    assert stream.tell(duel.ticket, "right").state == "voted"
    assert not np.any(stream._replica.folded.learner.theta)
    assert stream.observe(duel.ticket, [1.0, 2.0], [3.0, 4.0]).state == "told"
    assert np.any(stream._replica.folded.learner.theta)


def test_the_vote_and_context_reach_the_learner_in_its_own_order(
    stream: DecisionStream, rng: Generator
) -> None:
    """Whichever side the leader is shown on, a win of the candidate with more stars raises stars."""
    sides = set()
    for _ in range(12):
        offered = [{"id": "good", "features": [0, 1, 0]}, {"id": "bad", "features": [0, -1, 0]}]
        duel = stream.ask(offered)
        winner = "left" if duel.left.id == "good" else "right"
        sides.add(winner)
        after = {"good": [1.0, 0.0], "bad": [-1.0, 0.0]}
        stream.observe(duel.ticket, after[known(duel.left.id)], after[known(duel.right.id)])
        stream.tell(duel.ticket, winner)
    assert sides == {"left", "right"}  # the order is shuffled
    theta = stream._replica.folded.learner.theta[0]
    assert theta[1] > 0 < theta[3]
    assert stream.report().positions.left_wins + stream.report().positions.right_wins == 12


def test_repeats_change_nothing_and_contradictions_are_refused(
    stream: DecisionStream, rng: Generator
) -> None:
    ticket = vote(stream, rng, "left")
    twin = stream.ticket(ticket)
    context = next(inside(line.details, "y") for line in twin.history if line.kind == "observed")
    asked = twin.history[0].details
    left, right = reversed(context) if asked["swapped"] else context
    before = stream.snapshot_state()
    assert stream.tell(ticket, "left") == Receipt(ticket, "told", False, vote="3")
    assert stream.observe(ticket, left, right) == Receipt(ticket, "told", False)
    for winner in ("right", "tie", "skip"):
        with pytest.raises(Conflict, match="another vote"):
            stream.tell(ticket, winner)
    with pytest.raises(Conflict, match="another context"):
        stream.observe(ticket, left, [0.0, 0.0])
    assert stream.snapshot_state() == before


def test_an_event_id_gives_the_same_duel_again(stream: DecisionStream, rng: Generator) -> None:
    offered, others = candidates(rng), candidates(rng)
    first = stream.ask(offered, event_id="order 7")
    again = stream.ask(offered, event_id="order 7")
    assert again == first._replace(repeated=True)
    assert stream.model_version == 1
    one, two = stream.run([Ask(offered, "order 8"), Ask(offered, "order 8")])
    assert isinstance(one, Decision)
    assert two == one._replace(repeated=True)
    for wrong in (others, [*offered, others[0] | {"id": "new"}], [{**offered[0], "id": "x"}, *offered[1:]]):
        with pytest.raises(Conflict, match="other candidates"):
            stream.ask(wrong, event_id="order 7")
    assert stream.model_version == 2


def test_side_exits(stream: DecisionStream, rng: Generator) -> None:
    skipped, retracted = stream.ask(candidates(rng)).ticket, stream.ask(candidates(rng)).ticket
    assert stream.tell(skipped, "skip") == Receipt(skipped, "skipped", True)
    assert stream.tell(skipped, "skip") == Receipt(skipped, "skipped", False)
    assert stream.retract(retracted) == Receipt(retracted, "retracted", True)
    assert stream.retract(retracted) == Receipt(retracted, "retracted", False)
    for ticket, state in ((skipped, "skipped"), (retracted, "retracted")):
        with pytest.raises(Conflict, match=f"was {state}"):
            stream.tell(ticket, "left")
    with pytest.raises(Conflict, match="was retracted"):
        stream.observe(retracted, [1.0, 2.0], [3.0, 4.0])
    assert stream.observe(skipped, [1.0, 2.0], [3.0, 4.0]) == Receipt(skipped, "skipped", True)
    assert stream.observe(skipped, [1.0, 2.0], [3.0, 4.0]) == Receipt(skipped, "skipped", False)
    with pytest.raises(Conflict, match="no vote to retract"):
        stream.retract(skipped)
    assert stream._replica.folded.learner.pending.out.tolist() == [0]


def test_a_late_vote_finds_its_ticket_expired(stream: DecisionStream, clock: Clock, rng: Generator) -> None:
    duel = stream.ask(candidates(rng))
    clock.pass_slowly(stream, SETTINGS.vote_ttl_seconds + 1)
    with pytest.raises(DuelExpired, match="ask again"):
        stream.tell(duel.ticket, "left")
    with pytest.raises(DuelExpired):
        stream.observe(duel.ticket, [1.0, 2.0], [3.0, 4.0])
    assert stream.counts()["expired"] == 1
    assert stream.ticket(duel.ticket).state == "expired"


def test_what_waits_too_long_is_closed_on_the_way(
    stream: DecisionStream, clock: Clock, rng: Generator
) -> None:
    for _ in range(3):
        stream.ask(candidates(rng))
    done = vote(stream, rng)
    clock.pass_slowly(stream, SETTINGS.vote_ttl_seconds + 1)
    stream.ask(candidates(rng))
    assert stream.counts() | {"told": 1} == stream.counts()
    assert (stream.counts()["expired"], stream.counts()["asked"]) == (3, 1)
    assert stream.ticket(done).state == "told"


def test_expire_closes_what_is_older(stream: DecisionStream, clock: Clock, rng: Generator) -> None:
    old = stream.ask(candidates(rng)).ticket
    stream.tell(old, "left")  # its context never came
    clock.now += 100
    new = stream.ask(candidates(rng)).ticket
    assert stream.expire(older_than=50) == 1
    assert (stream.ticket(old).state, stream.ticket(new).state) == ("expired", "asked")
    assert stream.expire() == 0


def test_named_features_and_arrays_are_the_same_candidates(store: Store, rng: Generator) -> None:
    rows = rng.uniform(-1, 1, (3, 3))
    named = [
        {"id": str(i), "features": {"way": row[2], "price": row[0], "stars": row[1]}}
        for i, row in enumerate(rows)
    ]
    with (
        DecisionStream.create(store, "by name", SETTINGS) as one,
        DecisionStream.create(store, "by place", SETTINGS) as two,
    ):
        first, second = one.ask(named), two.ask(rows)
        assert (first.left.index, first.right.index) == (second.left.index, second.right.index)
        assert (first.left.id, second.left.id) == (str(first.left.index), None)


def test_a_batch_answers_each_request_in_order(stream: DecisionStream, rng: Generator) -> None:
    ticket = stream.ask(candidates(rng)).ticket
    answers = stream.run(
        [
            Observe(ticket, [1.0, 2.0], [3.0, 4.0]),
            Ask([]),
            Tell(ticket, "left"),
            Tell(ticket, "right"),
            Ask(candidates(rng)),
            Retract("nonsense"),
        ]
    )
    kinds = [type(answer).__name__ for answer in answers]
    assert kinds == ["Receipt", "InvalidInput", "Receipt", "Conflict", "Decision", "UnknownTicket"]
    assert isinstance(answers[2], Receipt)
    assert answers[2].state == "told"


def test_threads_share_transactions_and_lose_nothing(stream: DecisionStream, rng: Generator) -> None:
    offered = candidates(rng)

    def serve() -> None:
        for _ in range(8):
            duel = stream.ask(offered)
            stream.tell(duel.ticket, "left")
            stream.observe(duel.ticket, [1.0, 2.0], [3.0, 4.0])

    threads = [Thread(target=serve) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stream.counts()["told"] == 64
    assert stream.model_version == 3 * 64


@pytest.mark.parametrize("recipe", ["rcdp-ucb", "rcdb", "colstim", "max-inp", "max-pair-ucb"])
def test_every_recipe_serves_two_different_candidates(store: Store, recipe: str, rng: Generator) -> None:
    settings = StreamSettings(context_dim=2, recipe=recipe)
    with DecisionStream.create(store, recipe, settings) as stream:
        for _ in range(20):
            duel = stream.ask(rng.uniform(-1, 1, (3, 2)))
            assert duel.left.index != duel.right.index
            stream.tell(duel.ticket, "left" if rng.random() < 0.5 else "right")
        assert stream.counts()["told"] == 20  # without post-serving context a vote is enough


def test_random_pairs_carry_their_probability(store: Store, rng: Generator) -> None:
    settings = StreamSettings(context_dim=2, random_share=0.5, keep_candidates=True)
    with DecisionStream.create(store, "explored", settings) as stream:
        offered = rng.uniform(-1, 1, (4, 2))
        duels = [stream.ask(offered) for _ in range(60)]
        asked = stream.ticket(duels[0].ticket).history[0].details
    shown = {round(known(duel.probability), 6) for duel in duels}
    assert shown == {round(0.5 / 6, 6), round(0.5 + 0.5 / 6, 6)}
    share = sum(known(duel.probability) < 0.5 for duel in duels) / 60
    assert 0.2 < share < 0.65  # five of six random pairs differ from the learner's: 0.42
    assert asked["candidates"] == offered.tolist()


def test_the_report_tells_what_happened(stream: DecisionStream, clock: Clock, rng: Generator) -> None:
    live(stream, rng, 150)
    clock.now += 30
    report = stream.report()
    counts = stream.counts()
    assert report.model_version == stream.model_version
    assert report.pending == counts["asked"] + counts["observed"] + counts["voted"] > 0
    assert report.oldest_pending_seconds == 30
    assert sum(report.weight_histogram) == counts["told"]
    assert [one.feature for one in report.coefficients] == ["price", "stars", "way", "y0", "y1"]
    assert all(one.standard_error > 0 for one in report.coefficients)
    assert report.log_det_served > report.log_det_arrived > 0
    weights = [vote.weight for vote in report.down_weighted_votes]
    assert weights == sorted(weights)
    assert stream.ticket(report.down_weighted_votes[0].ticket).state == "told"
    assert {one.source for one in report.down_weighted_sources} == {"user 0", "user 1", "user 2"}
    assert sum(one.votes for one in report.down_weighted_sources) == counts["told"]
    assert report.prediction.contexts > 0 < known(report.prediction.mean_squared_error)
    assert 0.2 < known(report.positions.first_on_left) < 0.8
    assert report.to_dict()["counts"] == counts


def test_delay_quantiles_are_right_to_within_a_fifth(
    stream: DecisionStream, clock: Clock, rng: Generator
) -> None:
    for seconds in (1, 2, 4, 8, 1000):
        ticket = stream.ask(candidates(rng)).ticket
        clock.now += seconds
        stream.tell(ticket, "left")
    delays = stream.report().delay_seconds
    assert delays["p50"] == pytest.approx(4, rel=0.2)
    assert delays["p99"] == pytest.approx(1000, rel=0.2)


def test_numbers_and_names_may_be_of_numpy(store: Store, clock: Clock) -> None:
    """As they stand in the columns of a frame, or come from a generator."""
    settings = StreamSettings(context_dim=2, post_dim=1, feature_names=("price", "stars", "minutes"))
    names, prices = np.array(["soup", "rice"]), np.array([4, 9])
    records = [
        {"id": name, "features": {"price": price, "stars": np.float32(0.5)}, "group": names[0]}
        for name, price in zip(names, prices, strict=True)
    ]
    with DecisionStream.create(store, "meals", settings, clock=clock) as stream:
        assert stream.put_items(records).added == 2
        duel = stream.ask(records, event_id=names[0])
        stream.observe(duel.ticket, {"minutes": prices[0]}, {"minutes": prices[1]})
        assert stream.tell(duel.ticket, "left", source=names[1]).state == "told"
        stream.hold_source(names[0])
        assert {one.source: one.votes for one in stream.raters()} == {"rice": 1}
    with DecisionStream.open(store, "meals", clock=clock) as again:
        assert again.catalogue.item("rice").x.tolist() == [9.0, 0.5]
        assert again.votes().source == ["rice"]
