"""The functions of the package, such as `getCustomJob`, which read a resource that exists."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.core import connection
from pulumi_vertex_training.core.call import Call
from pulumi_vertex_training.core.get_functions import Lookup, not_running
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.provider import Failure, carry_out, is_unknown, refusals
from pulumi_vertex_training.core.secret_masking import KEY
from pulumi_vertex_training.package.kinds import PACKAGE
from pulumi_vertex_training.package.wire import names
from pulumi_vertex_training.package.wire.properties import Properties
from vertex_emulator import LauncherError
from vertex_training.fields.decode import UNKNOWN, decode, encode

RESOURCES = tuple(
    name
    for entry in registry.ENTRIES
    if find_spec(f"{registry.__package__}.kinds.{entry.folder}.lookup")
    for name in entry.resources
)
"""The resources that have a function: those whose kind has a module `lookup`."""


def token_of(resource: str) -> str:
    """Return the token of the function that reads a resource: `vertex-training:index:getCustomJob`."""
    return f"{PACKAGE}:index:get{resource}"


def lookup_of(token: str) -> Lookup[Any, Any]:
    """Return the lookup of a function. Raises KeyError for a token that the package does not serve."""
    resource = next((name for name in RESOURCES if token_of(name) == token), None)
    if resource is None:
        raise KeyError(token)
    entry = next(entry for entry in registry.ENTRIES if resource in entry.resources)
    return entry.part("lookup", "LOOKUP", Lookup)


def invoke(lookup: Lookup[Any, Any], given: Properties) -> tuple[Properties, Sequence[str]]:
    """Return the result of a function, or the mistakes in its arguments. Raises Failure."""
    values = {name: value for name, value in given.values.items() if value is not None}
    if is_unknown(values):
        fields = dataclasses.fields(lookup.result)
        return Properties(values={names.wire_name(item.name): UNKNOWN for item in fields}), ()
    decoded = decode(lookup.arguments, names.inward(values, lookup.arguments))
    call = Call(inputs={**values, KEY: sorted(given.secrets)})
    if decoded.spec is None:
        return Properties(), refusals(decoded.problems, call, spelt=names.wire_name)
    if missing := list(_missing_place(lookup, decoded.spec)):
        return Properties(), missing
    found = carry_out(lambda _: _read(lookup, decoded.spec), call)
    plain = {
        item.name: encode(value)
        for item in dataclasses.fields(found)
        if (value := getattr(found, item.name)) is not None
    }
    return Properties(values=names.outward(plain, lookup.result)), ()


def _place(lookup: Lookup[Any, Any], arguments: object) -> dict[str, str]:
    """Return project and location by the arguments, else the stack's, else ""."""
    settings, (project, location) = OPERATION.settings, lookup.place(arguments)
    return {
        "project": project or settings.project or "",
        "location": location or settings.location or "",
    }


def _missing_place(lookup: Lookup[Any, Any], arguments: object) -> Iterator[str]:
    for name, value in _place(lookup, arguments).items():
        if not value and hasattr(arguments, name):
            yield f"{name}: is not given. Give it, or run `pulumi config set {PACKAGE}:{name} VALUE`."


def _read(lookup: Lookup[Any, Any], arguments: object) -> Any:
    settings, place = OPERATION.settings, _place(lookup, arguments)
    try:
        # The engine does not tell whether it previews, and a preview starts nothing.
        endpoint = connection.connect_if_running(
            settings.endpoint, place["project"], place["location"], settings
        )
        if endpoint is None:
            raise not_running(settings.data_dir)
        return lookup.read(endpoint, arguments)
    except (CloudError, LauncherError) as error:
        raise Failure(lookup.failure(arguments, error)) from None
