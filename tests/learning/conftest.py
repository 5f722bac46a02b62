"""Examples without a deadline, as a first call may compile for seconds; torch with one thread."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("compiled", deadline=None)
settings.load_profile("compiled")


@pytest.fixture
def one_torch_thread() -> Iterator[None]:
    """A network this small gains nothing from a second thread and waits for it on a busy machine."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
