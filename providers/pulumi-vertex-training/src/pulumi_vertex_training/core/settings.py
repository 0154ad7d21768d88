"""The stack's configuration: Google or the emulator, project, location."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

from pulumi_vertex_training import configuration_keys as keys
from pulumi_vertex_training.cloud.endpoint import EMULATOR_LOCATION, EMULATOR_PROJECT
from pulumi_vertex_training.costs.configured_limits import NO_LIMITS, CostLimits, cost_limits
from pulumi_vertex_training.timeouts import ORDINARY, Timeouts, timeouts_of
from vertex_training.findings.problems import Problem
from vertex_training.findings.words import close, shown

EndpointKind = Literal["emulator", "google"]
Form = Literal["dynamic", "package"]


class Target(NamedTuple):
    """Where a resource's calls go: endpoint, project and location."""

    endpoint: EndpointKind
    project: str
    location: str


TARGET_FIELDS = Target._fields
"""The inputs of every resource that make up its `Target`."""


class SettingsError(ValueError):
    """The stack's configuration cannot be used; the message names the key, the value and the remedy."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The stack's defaults.

    `project` and `location` are None if neither namespace gives them. `data_dir` is the emulator's data
    folder; None means the emulator's own default (`vertex_emulator.launcher`). `lookup_seconds` is how long
    a preview waits for the lookups of one resource; 0 means that nothing is looked up. `preflight_seconds`
    is how long it waits for those of the preflight of a job on Google Cloud; 0 turns the preflight off. A
    preview above the `cost_limits` is refused. `timeouts` are those of the process that read this, or longer
    ones for a slower emulator. `form` is how a program in Python deploys its resources.
    """

    endpoint: EndpointKind = "emulator"
    project: str | None = None
    location: str | None = None
    data_dir: Path | None = None
    lookup_seconds: float = ORDINARY.lookups
    cost_limits: CostLimits = NO_LIMITS
    preflight_seconds: float = ORDINARY.preflight
    timeouts: Timeouts = ORDINARY
    form: Form = "dynamic"


LOCAL_STACK = "local"
"""Name of a stack that deploys to the emulator without a warning."""


def endpoint_not_chosen(stack: str) -> str:
    """Return the warning about a stack that deploys to the emulator although nobody chose it."""
    key = keys.ENDPOINT.name
    return (
        f"stack {stack} has no {key}, so it deploys to the emulator on this machine. For Google Cloud, run "
        f"`pulumi config set {key} google`. To keep the emulator, run `pulumi config set {key} emulator`."
    )


def read(get: Callable[[str], str | None], environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings, by a function that returns the value of a configuration key.

    `environment` has the scale of the timeouts. Raises SettingsError, with all errors in one message.
    """
    problems: list[str] = []
    endpoint = _chosen(get, keys.ENDPOINT.name, get_args(EndpointKind), problems)
    form = _chosen(get, keys.FORM.name, get_args(Form), problems)
    project = _named(get, (keys.PROJECT, "gcp:project"), "the id of a project", problems)
    location = _named(get, (keys.LOCATION, "gcp:region"), "a region", problems)
    if endpoint == "emulator":
        project, location = project or EMULATOR_PROJECT, location or EMULATOR_LOCATION
    timeouts = ORDINARY
    try:
        timeouts = timeouts_of(environment)
    except ValueError as error:
        problems.append(str(error))
    lookup_seconds = _seconds(get, keys.LOOKUP_TIMEOUT.name, ORDINARY.lookups, problems)
    preflight_seconds = _seconds(get, keys.PREFLIGHT_TIMEOUT.name, ORDINARY.preflight, problems)
    limits, wrong = cost_limits(get)
    problems += wrong
    settings = _checked(endpoint, project, location, get(keys.DATA_DIR.name), problems)
    if endpoint == "emulator":
        timeouts = timeouts.for_emulator(settings.data_dir)
    return dataclasses.replace(
        settings,
        lookup_seconds=timeouts.lookups if lookup_seconds is None else lookup_seconds,
        preflight_seconds=timeouts.preflight if preflight_seconds is None else preflight_seconds,
        cost_limits=limits,
        timeouts=timeouts,
        form=cast(Form, form),
    )


def _chosen(get: Callable[[str], str | None], key: str, words: Sequence[str], problems: list[str]) -> str:
    """Return the word of a key, by default the first. The remedy for another one is the closest word."""
    default = words[0]
    word = get(key) or default
    if word not in words:
        meant = next(iter(close(word, words, count=1)), default)
        listed = " or ".join(map(repr, words))
        problems.append(f"{key} is {word!r}; it must be {listed}. Run `pulumi config set {key} {meant}`.")
    return word


def _named(
    get: Callable[[str], str | None], names: tuple[keys.Key, str], rule: str, problems: list[str]
) -> str | None:
    """Return the value of our key, else of Google's. It is a name, so a list or an object is a mistake."""
    own, google = names
    for key in (own.name, google):
        value = get(key)
        if value:
            if not re.fullmatch(r"[A-Za-z0-9_.:-]+", value):
                problems.append(
                    f"{key} is {shown(value)}; it must be {rule}, such as {own.value}. "
                    f"Run `pulumi config set {key} {own.value}`."
                )
            return value
    return None


def target_of(props: Mapping[str, Any]) -> Target | None:
    """Return the target of a resource, by its inputs or outputs; None while it is not known."""
    endpoint, project, location = (props.get(name) for name in TARGET_FIELDS)
    if not (isinstance(endpoint, str) and isinstance(project, str) and isinstance(location, str)):
        return None
    return Target(cast(EndpointKind, endpoint), project, location)


def project_problems(project: str) -> list[Problem]:
    """Return the problems of the project that a resource is given."""
    if project:
        return []
    remedy = f"Set it here, or run `pulumi config set {keys.PROJECT.name} ID`."
    return [Problem(path="project", message=f"is not given. {remedy}")]


def _seconds(get: Callable[[str], str | None], key: str, default: float, problems: list[str]) -> float | None:
    """Return the value of a key, or None if it is not set. `default` is for the message about a wrong one."""
    text = get(key)
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= keys.MOST_LOOKUP_SECONDS:
        problems.append(
            f"{key} is {text!r}; it must be a number of seconds from 0 to "
            f"{keys.MOST_LOOKUP_SECONDS:g}. Run `pulumi config set {key} {default:g}`."
        )
    return seconds


def _checked(
    endpoint: str, project: str | None, location: str | None, data_dir: str | None, problems: list[str]
) -> Settings:
    folder = Path(data_dir).expanduser() if data_dir else None
    if folder is not None and not folder.is_absolute():
        problems.append(
            f"{keys.DATA_DIR.name} is {data_dir!r}; a relative path depends on the folder that a command "
            "runs in. Give an absolute path, or one that begins with ~."
        )
    if problems:
        raise SettingsError(" ".join(problems))
    return Settings(
        endpoint=cast(EndpointKind, endpoint), project=project, location=location, data_dir=folder
    )
