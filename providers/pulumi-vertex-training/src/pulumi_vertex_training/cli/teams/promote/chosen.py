"""The values of a configuration that are promoted: those that the stack declares, and no others.

The key `vertex-training:promote` lists them: `config` for plain values, `secrets` for secret ones. A secret
is copied only if it is listed as one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pulumi_vertex_training.cli.teams.promote.stacks import Value
from pulumi_vertex_training.configuration_keys import NAMESPACE, PROMOTE
from vertex_training.command_line.errors import CommandError
from vertex_training.fields.decode import decode
from vertex_training.findings.problems import Problem

KEY = PROMOTE.name
"""The key with the names of the values that a promotion copies."""

_OF_THE_STACK = ("gcp:project", "gcp:region", "gcp:zone")


@dataclass(frozen=True, kw_only=True)
class Declared:
    """The names of the values to copy; without a namespace, they are the program's own."""

    config: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A value to copy: as the other stack has it, and as it will be. None stands for no value.

    The texts of a secret are compared, and never shown.
    """

    key: str
    old: Value | None
    new: Value = field(repr=False)

    @property
    def changes(self) -> bool:
        if self.old is None:
            return True
        return (self.old.text, self.old.secret) != (self.new.text, self.new.secret)


def declared(config: Mapping[str, Value], stack: str, project: str) -> Declared:
    """Return the names in a configuration, with their namespaces. Raises CommandError, with every fault."""
    value = config.get(KEY)
    if value is None:
        return Declared()
    if not isinstance(value.structure, Mapping):
        raise CommandError(
            f"stack {stack}: {KEY} is not an object with the lists config and secrets. Write it as "
            f"`pulumi config set --path '{KEY}.config[0]' NAME --stack {stack}` does.",
            path=KEY,
        )
    decoded = decode(Declared, value.structure, path=KEY)
    faults = [str(problem) for problem in decoded.problems]
    found = decoded.spec or Declared()
    qualified = Declared(
        config=tuple(_qualified(key, project) for key in found.config),
        secrets=tuple(_qualified(key, project) for key in found.secrets),
    )
    faults += [str(problem) for problem in _faults(qualified)]
    if faults:
        raise CommandError(f"stack {stack}: {'. '.join(fault.rstrip('.') for fault in faults)}.", path=KEY)
    return qualified


def _qualified(key: str, project: str) -> str:
    return key if ":" in key else f"{project}:{key}"


def _faults(names: Declared) -> Iterator[Problem]:
    for part, keys in (("config", names.config), ("secrets", names.secrets)):
        for position, key in enumerate(keys):
            path = f"{KEY}.{part}[{position}]"
            if key.startswith(f"{NAMESPACE}:") or key in _OF_THE_STACK:
                message = f"{key} says where a stack deploys, so it is not copied. Remove it from the list"
                yield Problem(path=path, message=message)
    for key in sorted(set(names.config) & set(names.secrets)):
        yield Problem(path=KEY, message=f"{key} is listed in config and in secrets. Remove one")


def settings(
    names: Declared, source: Mapping[str, Value], target: Mapping[str, Value], stack: str
) -> tuple[list[Setting], list[str]]:
    """Return the values to copy, and notes about names without a value, which the other stack keeps.

    Raises CommandError, with every fault, for a secret that is not listed as one, or cannot be copied.
    """
    found, notes, faults = [], [], []
    for key in (*names.config, *names.secrets):
        value = source.get(key)
        if value is None:
            notes.append(f"{key} has no value in stack {stack}, so it stays as it is.")
            continue
        if value.secret and key not in names.secrets:
            faults.append(f"{key} is a secret of stack {stack}. To copy it, list it in {KEY}.secrets")
            continue
        if value.secret and value.structure is not None:
            faults.append(
                f"{key} is a secret object, which is not copied. Set it in the other stack manually"
            )
            continue
        found.append(Setting(key=key, old=target.get(key), new=value))
    if faults:
        raise CommandError(f"{'. '.join(faults)}.", path=KEY)
    return found, notes


def as_json(value: Value) -> dict[str, Any]:
    """Return a plain value as `pulumi config set-all --json` reads it."""
    document: dict[str, Any] = {"value": value.text or "", "secret": False}
    return document if value.structure is None else {**document, "objectValue": value.structure}
