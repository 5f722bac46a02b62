"""Limits from flags and environment."""

import pytest

from duelwise.errors import InvalidInput
from duelwise.service import ServiceSettings


def test_settings_survive_the_environment() -> None:
    settings = ServiceSettings(body_limit=5, candidate_limit=6, feature_limit=7, batch_limit=8, queue_limit=9)
    assert ServiceSettings.from_environment(settings.to_environment()) == settings
    assert ServiceSettings.from_environment({}) == ServiceSettings()


@pytest.mark.parametrize("text", ["", "many", "0", "-1", "1.5"])
def test_a_limit_that_is_no_number_is_named(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"(?i)body_limit"):
        ServiceSettings.from_environment({"DUELWISE_BODY_LIMIT": text})
