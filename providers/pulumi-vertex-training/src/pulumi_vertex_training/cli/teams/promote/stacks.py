"""A stack as `pulumi` shows it: its configuration, and the resources of its state."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pulumi_vertex_training import pulumi_command, registry, urns
from pulumi_vertex_training.cli.core_names import in_core_names
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.core import settings as settings_module
from pulumi_vertex_training.core.settings import Settings, SettingsError
from pulumi_vertex_training.timeouts import Timeouts
from pulumi_vertex_training.views import target
from vertex_training.command_line.errors import CommandError, InputError
from vertex_training.fields import timestamps

_PAGE = 100
_MOST_PAGES = 20
_JOBS = frozenset(name for entry in registry.RUNNABLE for name in entry.resources)


@dataclass(frozen=True, kw_only=True)
class Value:
    """A value of a configuration; `text` is None for a secret that was not read. `structure` is an object."""

    text: str | None
    secret: bool = False
    structure: Any = None


@dataclass(frozen=True, kw_only=True)
class Resource:
    """A resource of this package in a state, with its inputs and outputs in one mapping."""

    kind: str
    name: str
    id: str
    props: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_job(self) -> bool:
        return self.kind in _JOBS

    def text(self, name: str) -> str:
        """Return a property that is a string, else "", as for a secret."""
        value = self.props.get(name)
        return value if isinstance(value, str) else ""


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A stack by the name that the user gave, with its project, configuration and resources."""

    name: str
    project: str
    config: Mapping[str, Value] = field(default_factory=dict)
    resources: tuple[Resource, ...] = ()

    @property
    def short(self) -> str:
        """The name without the organization and the project."""
        return self.name.rpartition("/")[2]

    def settings(self) -> Settings:
        """Return where the stack deploys. Raises CommandError for a wrong configuration."""
        try:
            return settings_module.read(self.get)
        except SettingsError as error:
            raise CommandError(f"stack {self.name}: {error}") from None

    def get(self, key: str) -> str | None:
        """Return the text of a value, None if it is not set or secret."""
        found = self.config.get(key)
        return found.text if found is not None else None

    def of_kind(self, kind: str) -> dict[str, Resource]:
        """Return the resources of a kind by their names. Raises CommandError if two have one name."""
        found: dict[str, Resource] = {}
        for one in self.resources:
            if one.kind != kind:
                continue
            if one.name in found:
                raise CommandError(
                    f"stack {self.name}: two resources of type {kind} are named {one.name!r}, so a promotion "
                    "cannot tell them apart. Give one of them another name."
                )
            found[one.name] = one
        return found

    def endpoint_of(self, resource: Resource | None) -> Endpoint:
        """Return the endpoint of a resource, or of the stack's configuration.

        Raises InputError and CommandError, such as for an emulator that does not run.
        """
        own = self.settings()
        kind = resource.text("endpoint") if resource is not None else ""
        return target.resolve(
            target.Choice(
                kind=kind or own.endpoint,
                project=(resource.text("project") if resource is not None else "") or own.project,
                location=(resource.text("location") if resource is not None else "") or own.location,
                data_dir=own.data_dir if (kind or own.endpoint) == "emulator" else None,
                timeouts=own.timeouts,
            )
        )


def read(folder: Path, name: str, project: str, timeouts: Timeouts, *, path: str) -> Stack:
    """Read a stack. `path` is the option that names it. Raises InputError if it does not exist."""
    config = read_config(folder, name, timeouts, path=path)
    state = _json(folder, ["stack", "export", "--stack", name], timeouts, path=path)
    deployment = state.get("deployment") if isinstance(state, Mapping) else None
    listed = deployment.get("resources") if isinstance(deployment, Mapping) else None
    return Stack(name=name, project=project, config=config, resources=tuple(resources_of(listed or [])))


def read_config(
    folder: Path, name: str, timeouts: Timeouts, *, path: str, secrets: bool = False
) -> dict[str, Value]:
    """Return a stack's configuration with the defaults of the project; secrets only if they are asked for."""
    words = ["config", "--json", "--stack", name, *(["--show-secrets"] if secrets else [])]
    return values_of(_json(folder, words, timeouts, path=path))


def values_of(document: object) -> dict[str, Value]:
    """Return the values in what `pulumi config --json` or `pulumi stack history --json` prints."""
    found = {}
    for key, one in (document if isinstance(document, Mapping) else {}).items():
        if isinstance(one, Mapping):
            text = one.get("value")
            found[str(key)] = Value(
                text=text if isinstance(text, str) else None,
                secret=one.get("secret") is True,
                structure=one.get("objectValue"),
            )
    return found


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """A deployment in a stack's history.

    `commit` is the one that was checked out, "" if not known, `is_dirty` true if files differed from it.
    """

    config: Mapping[str, Value]
    commit: str = ""
    is_dirty: bool = False


def deployment_at(
    folder: Path, name: str, moment: str | None, timeouts: Timeouts, *, secrets: bool = False
) -> Deployment | None:
    """Return the last deployment of a stack, or that began by a moment (RFC 3339); None without one."""
    words = ["stack", "history", "--json", "--stack", name, "--page-size", str(_PAGE)]
    words += ["--show-secrets"] if secrets else []
    at = timestamps.parse(moment) if moment is not None else None
    for page in range(1, _MOST_PAGES + 1):
        listed = _json(folder, [*words, "--page", str(page)], timeouts, path="--from")
        if not isinstance(listed, list) or not listed:
            return None
        for one in listed:  # newest first
            if not isinstance(one, Mapping) or one.get("kind") != "update":
                continue
            if at is None or _began(one) <= at:
                found = one.get("environment")
                facts = found if isinstance(found, Mapping) else {}
                return Deployment(
                    config=values_of(one.get("config")),
                    commit=str(facts.get("git.head") or ""),
                    is_dirty=facts.get("git.dirty") == "true",
                )
    return None


def _began(deployment: Mapping[str, Any]) -> datetime:
    """Return when a deployment began; one without a time never did."""
    try:
        return timestamps.parse(str(deployment.get("startTime")))
    except ValueError:
        return datetime.max.replace(tzinfo=timezone.utc)


def resources_of(listed: list[Any]) -> Iterator[Resource]:
    """Yield the resources of this project in a state, without those that are being replaced."""
    for one in listed:
        kind = registry.resource_of(str(one.get("type", ""))) if isinstance(one, Mapping) else ""
        if not kind or one.get("delete") is True:
            continue
        state = in_core_names(one)
        parts = (state.get("inputs"), state.get("outputs"))
        props = {key: value for part in parts if isinstance(part, Mapping) for key, value in part.items()}
        name = urns.parse(str(one.get("urn", ""))).name
        yield Resource(kind=kind, name=name, id=str(one.get("id") or ""), props=props)


def _json(folder: Path, words: list[str], timeouts: Timeouts, *, path: str) -> Any:
    ran = pulumi_command.run(words, folder, timeouts.pulumi)
    if ran.code:
        name = words[words.index("--stack") + 1]
        if "no stack named" in ran.message:
            remedy = (
                f"Create it with `pulumi stack init {name} --no-select`."
                if path == "--to"
                else "`pulumi stack ls` lists the stacks."
            )
            raise InputError(f"There is no stack {name!r} in {folder}. {remedy}", path=path)
        raise CommandError(f"`pulumi {' '.join(words)}` failed with exit code {ran.code}: {ran.message}")
    try:
        return json.loads(ran.out)
    except ValueError:
        raise CommandError(f"`pulumi {' '.join(words)}` did not print JSON.") from None
