"""What can be asked of a stream besides pairs: ranking, best, raters, votes, audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from duelwise.stream import answering
from duelwise.stream.answering import ALL, Best, Knowledge, Ranking
from duelwise.stream.auditing import Audit, audit
from duelwise.stream.candidates import Candidates, Features
from duelwise.stream.catalogue import Catalogue
from duelwise.stream.encoding import Encoder
from duelwise.stream.gold import Gold, check_gold
from duelwise.stream.operations import FromCatalogue
from duelwise.stream.replica import Replica
from duelwise.stream.settings import StreamSettings
from duelwise.stream.source_ratings import Rater, raters_of
from duelwise.stream.vote_table import VoteTable, read_votes
from duelwise.types import IntArray


class StreamAnswers:
    """Answers from a replica. They read a moment's copy: nobody who asks for a pair waits for them."""

    _replica: Replica

    def knowledge(self) -> Knowledge:
        """What answers are read from: the state of this moment, level with the log."""
        replica = self._replica
        with replica.lock:
            replica.refresh()
            folded = replica.folded
            return Knowledge(
                self.settings, folded.belief.posterior(), folded.catalogue, folded.encoder,
                folded.predict, int(folded.learner.pending.out[0]),
            )  # fmt: skip

    def rank(
        self,
        candidates: Candidates | FromCatalogue = ALL,
        *,
        adjust: Sequence[str] = (),
        level: float = 0.95,
        limit: int | None = None,
        clustered: bool = False,
    ) -> Ranking:
        """Candidates or items in order of utility, each with interval, rank range and P(best).

        Features named in `adjust` are held equal. `clustered` allows for sources whose votes are alike; it
        reads the whole log.
        """
        knowledge = self.knowledge()
        if clustered:
            knowledge = knowledge._replace(
                posterior=answering.wider_by_source(knowledge.posterior, self.votes())
            )
        return answering.rank(knowledge, candidates, adjust=adjust, level=level, limit=limit)

    def best(self, candidates: Candidates | FromCatalogue = ALL) -> Best:
        """The one to serve without a duel."""
        return answering.best(self.knowledge(), candidates)

    def win_probability(self, first: Features | str, second: Features | str) -> float:
        """The chance that a vote goes to the first: features, or ids of items."""
        return answering.chance(self.knowledge(), first, second)

    def delays(self) -> IntArray:
        """Votes by the time from asking, in the bins of the ledger."""
        with self._replica.lock:
            return self._replica.folded.ledger.delays.copy()

    def votes(self, *, held_too: bool = False) -> VoteTable:
        """Every vote that counts, from the log; with `held_too` also those of sources that are held back."""
        with self._replica.lock:
            self._replica.refresh()
            upto = self._replica.folded.seq
        return read_votes(self.settings, self._replica.log, upto=upto, held_too=held_too)

    def raters(self, *, gold: Sequence[Gold] = ()) -> tuple[Rater, ...]:
        """What is known of every source, held ones too: agreement, reliability, a flag where one is due.

        Votes on `gold` pairs, whose answer is known, are counted apart.
        """
        check_gold(gold)
        votes = self.votes(held_too=True)
        with self._replica.lock:
            left_out = self._replica.folded.left_out
        return raters_of(
            votes, self.knowledge().posterior.prior_variance,
            held=left_out.sources, distrusted=left_out.distrusted, gold=gold,
        )  # fmt: skip

    def audit(self, *, groups: Mapping[str, str] | None = None) -> Audit:
        """A ledger of every vote, and whether a group of voters is held back or outvoted."""
        knowledge = self.knowledge()
        ids: Sequence[str] = ()
        z = np.empty((0, len(knowledge.posterior.mean)))
        if len(knowledge.catalogue) > 1:
            ids, z = answering.features_of(knowledge, ALL)
        return audit(self.votes(), knowledge.posterior.prior_variance, ids=list(ids), items=z, groups=groups)

    @property
    def catalogue(self) -> Catalogue:
        """The items, level with the log."""
        with self._replica.lock:
            self._replica.refresh()
            return self._replica.folded.catalogue

    @property
    def encoder(self) -> Encoder:
        """What turns raw features into numbers."""
        encoder = self._replica.folded.encoder
        if encoder.to_fit:  # another process may have fitted it
            with self._replica.lock:
                self._replica.refresh()
                encoder = self._replica.folded.encoder
        return encoder

    @property
    def replica(self) -> Replica:
        """This process's fold, for those who write several streams in one transaction."""
        return self._replica

    @property
    def settings(self) -> StreamSettings:
        return self._replica.settings
