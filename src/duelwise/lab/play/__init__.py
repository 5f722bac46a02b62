"""The loop that plays a learner in a world, and what is done to its votes and contexts on their way."""
