"""The client of a Duelwise service, without the rest of Duelwise."""

from duelwise_client.client import Candidate, Client, Duel, Receipt, RemoteStream, Side

__all__ = ["Candidate", "Client", "Duel", "Receipt", "RemoteStream", "Side"]
