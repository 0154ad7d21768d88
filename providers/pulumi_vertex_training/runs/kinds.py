"""What the workflow needs of a kind that runs: its calls, as a protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord


class Kind(Protocol):
    """The calls of one kind; `runs.gateway.RunGateway` has them.

    All raise the exceptions of `pulumi_vertex_training.cloud.errors`.
    """

    @property
    def noun(self) -> str: ...

    @property
    def collection(self) -> str: ...

    def create(self, endpoint: Endpoint, wire: Mapping[str, Any], /) -> JobRecord: ...

    def get(self, endpoint: Endpoint, name: str, /) -> JobRecord: ...

    def list_by_label(self, endpoint: Endpoint, labels: Mapping[str, str], /) -> Sequence[JobRecord]: ...

    def list_labelled(self, endpoint: Endpoint, label: str, /) -> Sequence[JobRecord]: ...

    def list_live_labelled(self, endpoint: Endpoint, label: str, /) -> Sequence[JobRecord]: ...

    def cancel(self, endpoint: Endpoint, name: str, /) -> None: ...

    def delete(self, endpoint: Endpoint, name: str, /) -> None: ...
