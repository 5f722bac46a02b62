"""A first call may compile for seconds: no example has a deadline."""

from hypothesis import settings

settings.register_profile("compiled", deadline=None)
settings.load_profile("compiled")
