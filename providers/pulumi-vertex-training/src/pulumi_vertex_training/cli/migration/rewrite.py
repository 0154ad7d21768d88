"""Rewrite an exported state from one form to the other.

Names, URNs and providers change. What a job is found by stays: its full name, the key of its run and the key
of the stack. So nothing changes in the service, and a live job keeps running.
"""

from __future__ import annotations

import base64
import importlib
import pickle
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training import registry, urns
from pulumi_vertex_training.core.settings import Form
from pulumi_vertex_training.core.state import entries
from pulumi_vertex_training.core.state.entries import PROVIDER_TYPE
from pulumi_vertex_training.package import kinds, stack_key
from pulumi_vertex_training.package.kinds import IN_PROGRAM, PackageKind
from pulumi_vertex_training.package.wire import names
from vertex_training import __version__
from vertex_training.fields.schema import snake_case

_DYNAMIC_PROVIDER = "pulumi:providers:pulumi-python"
_KEY = "StackKey"
_STACK_KEY = registry.type_token(_KEY)
_DYNAMIC = {registry.type_token(name): name for name in (*registry.RESOURCES, _KEY)}
_PACKAGED = {registry.package_token(name): name for name in registry.RESOURCES}
_PICKLED = "__provider"
_PICKLE_PROTOCOL = 4
_JOB_STATES = {"TrainingPipeline": "PIPELINE_STATE_"}
"""The service's text before the word of a job's state. The package records the word alone."""

Resource = dict[str, Any]
Convert = Callable[[PackageKind, Mapping[str, Any]], dict[str, Any]]


class NotMovedError(ValueError):
    """The state cannot be moved; the message names the reason and the remedy."""


@dataclass(frozen=True, kw_only=True)
class Moved:
    """A resource that changes its form."""

    kind: str
    name: str
    id: str


@dataclass(frozen=True, kw_only=True)
class Rewritten:
    """The state in the other form, and the resources that changed."""

    state: dict[str, Any]
    moved: tuple[Moved, ...]


def rewritten(state: Mapping[str, Any], to: Form) -> Rewritten:
    """Return an exported state in the other form.

    Raises NotMovedError, and `names.EncryptedError` if the names in an encrypted value change.
    """
    deployment = entries.deployment_of(state)
    found = entries.forms(deployment)
    if deployment.get("pending_operations"):
        raise NotMovedError(
            "a deployment was interrupted, and the state has pending operations. Run `pulumi up`, which "
            "continues it, then `pulumi refresh --clear-pending-creates`, and move the stack then."
        )
    if len(found) > 1:
        raise NotMovedError(
            "its resources have both forms. Remove those of one form with `pulumi destroy --target URN`."
        )
    if to in found or not found:
        return Rewritten(state=dict(state), moved=())
    listed = [dict(one) for one in deployment.get("resources") or []]
    move = _to_package if to == "package" else _to_dynamic
    resources, moved = move(listed, state)
    return Rewritten(
        state={**state, "deployment": {**deployment, "resources": resources}}, moved=tuple(moved)
    )


def _to_package(listed: list[Resource], _state: Mapping[str, Any]) -> tuple[list[Resource], list[Moved]]:
    ours = [one for one in listed if one["type"] in _DYNAMIC]
    key = next((str(one.get("id")) for one in listed if one["type"] == _STACK_KEY), "")

    def provider_inputs(old: Mapping[str, Any]) -> dict[str, Any]:
        start = f"{registry.PACKAGE}:"
        own = {name.removeprefix(start): value for name, value in old.items() if name.startswith(start)}
        return {**own, "form": "package", **({stack_key.INPUT: key} if key else {}), "version": __version__}

    tokens = {token: registry.package_token(name) for token, name in _DYNAMIC.items() if name != _KEY}
    name = f"default_{__version__.replace('.', '_')}"
    provider = _Provider(listed, ours, type_=PROVIDER_TYPE, name=name, inputs=provider_inputs)
    gone = {one["urn"] for one in listed if one["type"] == _STACK_KEY}
    kept = [one for one in listed if one["urn"] not in gone]
    return _converted(kept, tokens, provider, gone, _packaged), _moved(ours, _DYNAMIC)


def _to_dynamic(listed: list[Resource], state: Mapping[str, Any]) -> tuple[list[Resource], list[Moved]]:
    ours = [one for one in listed if one["type"] in _PACKAGED]
    key = stack_key.of_state(state, listed[0]["urn"])

    def provider_inputs(old: Mapping[str, Any]) -> dict[str, Any]:
        hidden = {stack_key.INPUT, "version", "form"}
        return {
            name if name.startswith("__") else f"{registry.PACKAGE}:{name}": value
            for name, value in old.items()
            if name not in hidden
        }

    tokens = {token: registry.type_token(name) for token, name in _PACKAGED.items()}
    provider = _Provider(listed, ours, type_=_DYNAMIC_PROVIDER, name="default", inputs=provider_inputs)
    found = _converted(listed, tokens, provider, set(), _made_dynamic)
    return _with_stack_key(found, provider.ref, key), _moved(ours, _PACKAGED)


def _moved(ours: list[Resource], kind_of: Mapping[str, str]) -> list[Moved]:
    return [
        Moved(kind=kind_of[one["type"]], name=urns.parse(one["urn"]).name, id=str(one.get("id") or ""))
        for one in ours
    ]


class _Provider:
    """The default provider that takes the place of those that our resources have."""

    def __init__(
        self,
        listed: list[Resource],
        ours: list[Resource],
        *,
        type_: str,
        name: str,
        inputs: Callable[[Mapping[str, Any]], dict[str, Any]],
    ) -> None:
        """Describe it. `inputs` makes its inputs of those of the first one that it replaces."""
        own = {id(one) for one in ours}
        parts = urns.parse(listed[0]["urn"])
        self._type, self._inputs, self._is_placed = type_, inputs, False
        self._urn = f"urn:pulumi:{parts.stack}::{parts.project}::{type_}::{name}"
        # It exists already if other resources have it.
        self._existing = next((one for one in listed if one["urn"] == self._urn), None)
        self._id = self._existing["id"] if self._existing else str(uuid.uuid4())
        self.ref = f"{self._urn}::{self._id}"
        self._replaces = {str(one.get("provider")) for one in ours}
        self._shared = {str(one.get("provider")) for one in listed if id(one) not in own}

    def in_place_of(self, one: Resource) -> list[Resource] | None:
        """Return what takes the place of a provider, None for any other resource.

        A provider comes before the first resource that has it.
        """
        ref = f"{one['urn']}::{one.get('id')}"
        if ref not in self._replaces and one["urn"] != self._urn:
            return None
        kept = [one] if ref in self._replaces & self._shared else []
        if self._is_placed:
            return kept
        self._is_placed = True
        return [*kept, self._existing or self._made(one)]

    def _made(self, one: Resource) -> Resource:
        inputs = self._inputs(one.get("inputs") or {})
        outputs = {name: value for name, value in inputs.items() if not name.startswith("__")}
        own = {"urn": self._urn, "type": self._type, "id": self._id}
        return {**one, **own, "inputs": inputs, "outputs": outputs}


def _converted(
    listed: list[Resource], tokens: Mapping[str, str], provider: _Provider, gone: set[str], convert: Convert
) -> list[Resource]:
    """Return the resources with another provider, and with new types, URNs and properties."""
    strings = {one["urn"]: _urn(one["urn"], tokens) for one in listed}
    found: list[Resource] = []
    for one in listed:
        if (placed := provider.in_place_of(one)) is not None:
            found += placed
        elif token := tokens.get(one["type"]):
            kind = kinds.kind_of(token if token in _PACKAGED else one["type"])
            changed = _with_names(one, kind, convert, gone)
            found.append(_replaced({**changed, "type": token, "provider": provider.ref}, strings))
        else:
            found.append(_replaced(one, strings))
    return found


def _with_names(one: Resource, kind: PackageKind, convert: Convert, gone: set[str]) -> Resource:
    rename = names.wire_name if convert is _packaged else snake_case
    changed = {name: value for name, value in one.items() if name != "initErrors"}
    for part in ("inputs", "outputs"):
        if part in one:
            changed[part] = convert(kind, one[part] or {})
    if one.get("dependencies"):
        changed["dependencies"] = [urn for urn in one["dependencies"] if urn not in gone]
    if one.get("propertyDependencies"):
        changed["propertyDependencies"] = {
            rename(name): [urn for urn in listed or () if urn not in gone]
            for name, listed in one["propertyDependencies"].items()
        }
    if one.get("additionalSecretOutputs"):
        changed["additionalSecretOutputs"] = [rename(name) for name in one["additionalSecretOutputs"]]
    return changed


def _packaged(kind: PackageKind, props: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of a dynamic resource as the package has them."""
    own = {name: value for name, value in props.items() if name != _PICKLED}
    return kind.outward({**own, **({IN_PROGRAM: True} if kind.options else {})})


def _made_dynamic(kind: PackageKind, props: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of a resource of the package as a dynamic one has them."""
    own, _ = kind.split(kind.inward(props))
    if kind.job is not None and isinstance(own.get("state"), str):
        own["state"] = f"{_JOB_STATES.get(kind.resource, 'JOB_STATE_')}{own['state']}"
    return {_PICKLED: pickled(kind.resource), **own}


class _Reference:
    """A provider by the name of its class, as a program pickles it into the inputs of a resource."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return importlib.import_module(registry.ADDRESSES).provider_of, (self._name,)


def pickled(resource: str) -> str:
    """Return the pickled provider of a resource class, as Pulumi's SDK writes it."""
    reference = pickle.dumps(_Reference(f"{resource}Provider"), protocol=_PICKLE_PROTOCOL)
    return base64.b64encode(reference).decode()


def _with_stack_key(resources: list[Resource], provider: str, key: str) -> list[Resource]:
    """Return the resources with the record of the stack's key after their provider."""
    urn, _, id_ = provider.rpartition("::")
    at = next(i for i, one in enumerate(resources) if (one["urn"], one.get("id")) == (urn, id_))
    stack = next((one["urn"] for one in resources if one["type"] == "pulumi:pulumi:Stack"), None)
    parts = urns.parse(urn)
    props = {_PICKLED: pickled(_KEY)}
    record: Resource = {
        "urn": f"urn:pulumi:{parts.stack}::{parts.project}::{_STACK_KEY}::{registry.PACKAGE}",
        "custom": True,
        "id": key,
        "type": _STACK_KEY,
        "inputs": props,
        "outputs": {**props, "key": key},
        **({"parent": stack} if stack else {}),
        "provider": provider,
        "propertyDependencies": {_PICKLED: []},
    }
    return [*resources[: at + 1], record, *resources[at + 1 :]]


def _urn(urn: str, tokens: Mapping[str, str]) -> str:
    parts = urns.parse(urn)
    types = "$".join(tokens.get(one, one) for one in parts.types.split("$"))
    return f"urn:pulumi:{parts.stack}::{parts.project}::{types}::{parts.name}"


def _replaced(value: object, strings: Mapping[str, str]) -> Any:
    """Return a value with new URNs, wherever one stands alone: parents, dependencies and references."""
    if isinstance(value, str):
        return strings.get(value, value)
    if isinstance(value, Mapping):
        return {name: _replaced(item, strings) for name, item in value.items()}
    return [_replaced(item, strings) for item in value] if isinstance(value, list) else value
