"""Algorithms of others that are more than a choice among our parts: each with parts of its own.

They choose in Python, by rules that look into their own estimate, so the laboratory plays them in the
plain loop, and streams do not take them.
"""
