"""Votes on a duel of several raters that are retracted, replaced and told again."""

import pytest
from living import Clock

from duelwise.errors import Conflict
from duelwise.receipts import Receipt
from duelwise.storage import Store
from duelwise.stream import DecisionStream, StreamSettings
from duelwise.stream.folding import fold
from duelwise.stream.logs import StoredLog
from duelwise.stream.operations import Retract, Tell


@pytest.mark.parametrize("post_dim", [0, 1])
def test_a_vote_that_replaces_a_retracted_one_is_counted_by_the_rebuild(
    store: Store, clock: Clock, post_dim: int
) -> None:
    """Until then the learner has its three votes, the retracted one among them."""
    settings = StreamSettings(context_dim=1, post_dim=post_dim, votes_wanted=3)
    with DecisionStream.create(store, "panel", settings, clock=clock) as stream:
        ticket = stream.ask([[0.1], [0.9]]).ticket
        if post_dim:
            stream.observe(ticket, left=[1.0], right=[0.0])
        answers = stream.run(
            [
                Tell(ticket, "left", source="s1"), Tell(ticket, "left", source="s2"),
                Retract(ticket, source="s2"), Tell(ticket, "right", source="s2"),
                Tell(ticket, "left", source="s3"),
            ]
        )  # fmt: skip
        assert [type(answer) for answer in answers] == [Receipt] * 5
        stream.wait_for_background()
        assert not stream.report().rebuild_is_due
        assert stream.ask([[0.1], [0.9]]).ticket
        assert [vote.source for vote in stream.ticket(ticket).votes] == ["s1", "s2", "s3"]
        state = stream.snapshot_state()
        log = StoredLog(store, 1)
        assert fold(settings, log, upto=stream.model_version).snapshot().payload == state


def test_what_no_longer_counts_is_neither_retracted_again_nor_told_again(store: Store, clock: Clock) -> None:
    settings = StreamSettings(context_dim=1, votes_wanted=2)
    with DecisionStream.create(store, "panel", settings, clock=clock) as stream:
        ticket = stream.ask([[0.1], [0.9]]).ticket
        stream.tell(ticket, "left", source="s1")
        stream.retract(ticket)
        assert stream.ticket(ticket).votes == ()
        with pytest.raises(Conflict, match="retracted"):
            stream.tell(ticket, "left", source="s1")
        assert stream.retract_source("s1") == 0


def test_a_duel_that_had_its_votes_takes_no_other_while_it_waits_for_its_context(
    store: Store, clock: Clock
) -> None:
    settings = StreamSettings(context_dim=1, post_dim=1, votes_wanted=2)
    with DecisionStream.create(store, "panel", settings, clock=clock) as stream:
        ticket = stream.ask([[0.1], [0.9]]).ticket
        for source in ("s1", "s2"):
            stream.tell(ticket, "left", source=source)
        stream.retract(ticket, source="s1")
        for winner in ("left", "skip"):
            with pytest.raises(Conflict, match="waits for its context"):
                stream.tell(ticket, winner, source="s3")
        stream.observe(ticket, left=[1.0], right=[0.0])
        assert stream.ticket(ticket).state == "told"
