"""Limits from flags and environment."""

import pytest

from duelwise.errors import InvalidInput
from duelwise.service import ServiceSettings


def test_settings_come_from_the_environment() -> None:
    settings = ServiceSettings(body_limit=5, queue_limit=9)
    given = {"DUELWISE_BODY_LIMIT": "5", "DUELWISE_QUEUE_LIMIT": "9", "DUELWISE_STORE": "of another"}
    assert ServiceSettings.from_environment(given) == settings
    assert ServiceSettings.from_environment({}) == ServiceSettings()


@pytest.mark.parametrize("text", ["", "many", "0", "-1", "1.5"])
def test_a_limit_that_is_no_number_is_named(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"(?i)body_limit"):
        ServiceSettings.from_environment({"DUELWISE_BODY_LIMIT": text})
