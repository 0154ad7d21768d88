"""The configuration of a provider: the stack's for a default provider, its own inputs for an explicit one."""

from __future__ import annotations

import difflib
import json
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from pulumi_vertex_training import configuration_keys as keys
from pulumi_vertex_training.core import settings
from pulumi_vertex_training.core.promotion import entries as promotion
from pulumi_vertex_training.core.settings import SettingsError
from vertex_training.fields.decode import UNKNOWN

_LIMITS = (keys.MAX_HOURLY_COST, keys.MAX_RUN_COST)
ONLY_PYTHON = (
    f"Only they keep to {keys.MAX_HOURLY_COST.name} and {keys.MAX_RUN_COST.name} yet, and this stack has a "
    "limit. Remove the limit with `pulumi config rm`, or use Python."
)


def getter(given: Mapping[str, Any]) -> Callable[[str], str | None]:
    """Return a function that returns the value of a configuration key, None for one that is not known yet."""

    def get(key: str) -> str | None:
        namespace, _, name = key.partition(":")
        value = given.get(name) if namespace == keys.NAMESPACE else None
        if value is None or value is UNKNOWN or isinstance(value, str):
            return value if isinstance(value, str) else None
        # A provider in a program may have a number, a list or an object, which the stack has as JSON.
        whole = int(value) if isinstance(value, float) and value.is_integer() else value
        return json.dumps(whole)

    return get


def problems(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield why a provider cannot have this configuration."""
    for read in (settings.read, lambda get: promotion.read(get(promotion.KEY))):
        try:
            read(getter(given))
        except SettingsError as error:
            yield str(error)
    if given.get(keys.FORM.name.partition(":")[2]) == "package":
        return  # That of a program in Python. The check of a resource refuses any other one.
    for limit in _LIMITS:
        if given.get(limit.name.partition(":")[2]) is not None:
            yield (
                f"{limit.name} is set, and only programs in Python keep to it yet. The package would exceed "
                f"it. Run `pulumi config rm {limit.name}`, or use Python."
            )


def warnings(given: Mapping[str, Any], secrets: Collection[str], stack: str) -> Iterator[str]:
    """Yield warnings about mistyped keys, and about an endpoint that nobody chose.

    `secrets` are the paths of the secret values.
    """
    known = [key.name.partition(":")[2] for key in keys.KEYS]
    get = getter(given)
    for name in sorted(given.keys() - {*known}):
        for meant in difflib.get_close_matches(name, known, n=1, cutoff=keys.ALIKE):
            wrong, right = f"{keys.NAMESPACE}:{name}", f"{keys.NAMESPACE}:{meant}"
            is_secret = any(path == name or path.startswith((f"{name}.", f"{name}[")) for path in secrets)
            value = "--secret" if is_secret else shlex.quote(get(wrong) or "VALUE")
            yield (
                f"{wrong} has no effect; did you mean {right}? Run `pulumi config set {right} {value} && "
                f"pulumi config rm {shlex.quote(wrong)}`."
            )
    if given.get("endpoint") is not UNKNOWN and not get(keys.ENDPOINT.name) and stack != settings.LOCAL_STACK:
        yield settings.endpoint_not_chosen(stack)
