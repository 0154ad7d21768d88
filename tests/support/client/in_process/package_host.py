"""The package's providers as the small engine calls a provider, with what a program in Python registers.

Of that only the declared inputs are passed on: all else follows from the engine's request.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from pulumi.dynamic import (
    CheckFailure,
    CheckResult,
    CreateResult,
    DiffResult,
    ReadResult,
    ResourceProvider,
    UpdateResult,
)

from pulumi_vertex_training.package import adapter
from pulumi_vertex_training.package.kinds import PACKAGE, PackageKind, kind_of
from pulumi_vertex_training.package.wire.properties import Properties
from vertex_training.fields.schema import field_types, without_none


class PackageProvider(ResourceProvider):
    """The provider of one resource of the package; its properties have the names of the wire."""

    def __init__(self, kind: PackageKind, *, urn: str, stack_key: str) -> None:
        super().__init__()
        self.kind = kind
        self._urn, self._stack_key = urn, stack_key
        self.secrets: frozenset[str] = frozenset()
        """The paths of the secrets among the properties, with the names of the wire."""

    def declared(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a program in YAML would declare."""
        given = {name: value for name, value in inputs.items() if name in self.kind.public_names}
        if isinstance(request := inputs.get("request"), Mapping):
            # The job of a schedule: here it is a template, without the target and what only a program has.
            template = without_none(field_types(self.kind.inputs)["custom_job"])
            given["custom_job"] = {
                name: value
                for name, value in request["declaration"].items()
                if name in field_types(template) and value is not None
            }
        waits = {"wait": "none"} if self.kind.job else {}
        return self.kind.outward({**given, **waits})

    def shown(self, outputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the outputs with the names that a program in Python has."""
        return self.kind.inward(outputs)

    def check(self, _olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        seed = secrets.token_bytes(32)
        inputs, reasons = adapter.check(self._request(inputs=news, old_inputs=_olds, seed=seed))
        return CheckResult(inputs.values, [CheckFailure("", reason) for reason in reasons])

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        found = adapter.diff(self._request(id=_id, outputs=_olds, inputs=_news))
        return DiffResult(
            changes=found.changes,
            replaces=found.replaces,
            delete_before_replace=found.delete_before_replace,
        )

    def create(self, props: dict[str, Any]) -> CreateResult:
        id_, outputs = adapter.create(self._request(inputs=props))
        return CreateResult(id_, outputs.values)

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        return UpdateResult(adapter.update(self._request(id=_id, outputs=_olds, inputs=_news)).values)

    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        found, outputs, inputs = adapter.read(self._request(id=id_, outputs=props))
        if not found:
            return ReadResult(None, {})
        return ReadResult(found, outputs.values, inputs.values or None)

    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        adapter.delete(self._request(id=_id, outputs=_props))

    def _request(self, *, id: str = "", seed: bytes = b"", **values: dict[str, Any]) -> adapter.Request:  # noqa: A002
        props: dict[str, Any] = {
            name: Properties(values=each, secrets=self.secrets) for name, each in values.items()
        }
        return adapter.Request(
            kind=self.kind,
            urn=self._urn,
            stack_key=self._stack_key,
            id=id,
            seed=seed,
            **props,
        )


def provider(resource: str, *, urn: str, stack_key: str) -> PackageProvider:
    """Return the package's provider of a resource, such as `CustomJob`."""
    return PackageProvider(kind_of(f"{PACKAGE}:index:{resource}"), urn=urn, stack_key=stack_key)
