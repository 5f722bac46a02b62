"""Answers from votes: which is best, how sure, how many more votes, whom to trust."""
