"""The provider of `StackKey`: a random id in the state, recorded before anything else is created.

Every resource carries a key that is made of it. So the next deployment finds what a killed one created, and
never takes what another stack created, not even one whose names are the same.
"""

from __future__ import annotations

import uuid
from typing import Any

from pulumi.dynamic import CheckResult, CreateResult, DiffResult, ReadResult

from pulumi_vertex_training.plugin.provider import Provider, clean, inbound, outbound
from pulumi_vertex_training.plugin.running import begun_creations

_ID_LENGTH = 16


class StackKeyProvider(Provider):
    """The provider of `StackKey`. It has no inputs; its output is `key`. Nothing is created in a cloud."""

    checks_texts = False

    @clean
    def check(self, _olds: dict[str, Any], _news: dict[str, Any]) -> CheckResult:
        return CheckResult({}, [])

    @clean
    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        return DiffResult(changes=False)

    @clean
    def create(self, _props: dict[str, Any]) -> CreateResult:
        key = uuid.uuid4().hex[:_ID_LENGTH]
        return CreateResult(key, {"key": key})

    @clean
    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        return ReadResult(id_, outbound(inbound(props)))

    @clean
    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        """Delete what interrupted deployments created and no state has: nothing else finds it any more."""
        begun_creations.remove_of_stack(_id)
