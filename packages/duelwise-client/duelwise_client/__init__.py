"""The client of a Duelwise service, without the rest of Duelwise."""

from duelwise_client.client import Candidate, Client, RemoteDecision, RemoteStream
from duelwise_client.receipts import Receipt, Side

__all__ = ["Candidate", "Client", "Receipt", "RemoteDecision", "RemoteStream", "Side"]
