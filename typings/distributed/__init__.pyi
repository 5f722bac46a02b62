from collections.abc import Mapping
from types import TracebackType

class Client:
    def __init__(self, address: str) -> None: ...
    def __enter__(self) -> Client: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

class _Nanny:
    pid: int

class LocalCluster:
    workers: Mapping[int, _Nanny]
    scheduler_address: str
    def __init__(self, *, n_workers: int, threads_per_worker: int, dashboard_address: str | None) -> None: ...
    def __enter__(self) -> LocalCluster: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
