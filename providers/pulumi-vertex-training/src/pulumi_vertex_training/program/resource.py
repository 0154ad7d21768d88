"""Read the stack's endpoint, project and location, and prepare the inputs of a resource for its provider.

Pulumi sends plain values, and fails with a traceback at a value of any other type. A path, a duration or a
number of NumPy is unmistakable and is converted. Any other value becomes a text that the check of the
resource reports together with all other errors (`core.text_of_outputs`).
"""

from __future__ import annotations

import contextvars
import dataclasses
import datetime
import difflib
import enum
import functools
import numbers
import os
import shlex
import weakref
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

import pulumi
from pulumi import _types
from pulumi.dynamic import ResourceProvider
from pulumi.runtime import config
from pulumi.runtime.settings import get_engine

from pulumi_vertex_training import configuration_keys, providers
from pulumi_vertex_training.core import settings
from pulumi_vertex_training.core.secret_masking import KEY
from pulumi_vertex_training.core.settings import Settings
from pulumi_vertex_training.core.state.hidden_input import PREVIEW_INPUT
from pulumi_vertex_training.core.text_of_outputs import unusable
from pulumi_vertex_training.dynamic.process import engine_address
from pulumi_vertex_training.program import messages, registrations
from pulumi_vertex_training.program.secret_paths import secret_paths
from vertex_emulator import launcher

_OUTPUTS = ("uri", "url", "ref", "repo_digest", "email", "name", "id")
"""Outputs that a resource may be meant by, the most specific first."""


def sendable(value: object) -> Any:
    """Return a value with everything converted that Pulumi cannot send."""
    if value is None or isinstance(value, (str, bool, int, float, pulumi.Output, enum.Enum)):
        return value
    if isinstance(value, Mapping):
        return {key: sendable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [sendable(item) for item in value]
    if _types.is_input_type(type(value)):
        return {key: sendable(item) for key, item in _types.input_type_to_dict(value).items()}
    if isinstance(value, pulumi.Resource):
        return unusable(_resource(value))
    if isinstance(value, os.PathLike):
        path = os.fspath(value)
        return path if isinstance(path, str) else os.fsdecode(path)
    if isinstance(value, datetime.timedelta):
        return f"{value.total_seconds():.9f}".rstrip("0").rstrip(".") + "s"
    if isinstance(value, numbers.Number):
        return _number(value)
    if isinstance(value, (Awaitable, pulumi.Asset, pulumi.Archive)):
        return value
    if isinstance(value, (set, frozenset)):
        return unusable("is a set, which has no order; write a list, in [brackets]")
    if callable(value):
        return unusable(f"is a function ({getattr(value, '__name__', type(value).__name__)}); call it")
    return unusable(
        f"is a value of type {type(value).__name__}; give a string, a number, a list or a dictionary"
    )


def _resource(resource: pulumi.Resource) -> str:
    name = getattr(resource, "_name", "resource")
    given = next(
        (each for each in _OUTPUTS if each in resource.__dict__ or hasattr(type(resource), each)), "id"
    )
    kind = type(resource).__name__
    return f"is the resource {name!r} ({kind}), not a value; give one of its outputs, such as .{given}"


def _number(value: numbers.Number) -> Any:
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    return unusable(f"is a number of type {type(value).__name__}; give an int or a float")


class ProviderReference(ResourceProvider):
    """A provider by the name of its class, which Pulumi pickles into the inputs of a resource.

    Only the provider process loads the class and what it needs.
    """

    serialize_as_secret_always = False

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def __reduce__(self) -> tuple[Callable[[str], ResourceProvider], tuple[str]]:
        return providers.provider_of, (self._name,)


_settings: weakref.WeakKeyDictionary[object, Settings] = weakref.WeakKeyDictionary()
"""The settings of each deployment: each resource asks for them several times."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Construction:
    """A component that the plugin constructs, with the plugin's settings. The component adds its outputs."""

    settings: Settings
    outputs: dict[str, Any] = dataclasses.field(default_factory=dict)


CONSTRUCTION: contextvars.ContextVar[Construction | None] = contextvars.ContextVar(
    "construction", default=None
)
"""The component that is constructed in this context; None in a program."""


def is_constructed() -> bool:
    """Return whether the plugin declares the resources, for a program in any language."""
    return CONSTRUCTION.get() is not None


def stack_settings() -> Settings:
    """Return the stack's settings. Raises `pulumi.RunError` for an invalid configuration."""
    if (construction := CONSTRUCTION.get()) is not None:
        return construction.settings
    engine = get_engine() if engine_address() else None
    if engine is None:
        return _read_settings()
    if engine not in _settings:
        _settings[engine] = _read_settings()
        registrations.await_first()
    return _settings[engine]


def _read_settings() -> Settings:
    try:
        configured = settings.read(config.get_config)
    except settings.SettingsError as error:
        raise pulumi.RunError(messages.in_shell(str(error))) from None
    _show_target(configured)
    return configured


_targets_shown: weakref.WeakSet[object] = weakref.WeakSet()
"""Engines that have got the line of `_show_target`: with the Automation API a process has several."""


def _show_target(configured: Settings) -> None:
    """Print once for a program where it deploys. Warn if the emulator was not chosen."""
    engine = get_engine()
    if engine is None or engine in _targets_shown:
        return
    _targets_shown.add(engine)
    pulumi.log.info(target_in_words(configured))
    key, stack = configuration_keys.ENDPOINT.name, pulumi.get_stack()
    if stack != settings.LOCAL_STACK and not config.get_config(key):
        messages.warn(settings.endpoint_not_chosen(stack), None)
    for line in _mistyped_keys():
        messages.warn(line, None)


def _mistyped_keys() -> Iterator[str]:
    """Yield a warning for each configured key that is nearly one of this package.

    A mistyped limit would be no limit. Other keys may belong to a project with the name of this package.
    """
    start = f"{configuration_keys.NAMESPACE}:"
    known = [key.name.removeprefix(start) for key in configuration_keys.KEYS]
    for name in sorted({*config.CONFIG.get(), *config.get_config_env()}):
        short = name.removeprefix(start)
        if short == name or short in known:
            continue
        for meant in difflib.get_close_matches(short, known, n=1, cutoff=configuration_keys.ALIKE):
            stack = shlex.quote(pulumi.get_stack())
            # Without a value, `pulumi` asks for it.
            value = (
                "--secret" if config.is_config_secret(name) else shlex.quote(config.get_config(name) or "")
            )
            yield (
                f"{name} has no effect; did you mean {start}{meant}? Run `pulumi config set {start}{meant} "
                f"{value} --stack {stack} && pulumi config rm {shlex.quote(name)} --stack {stack}`."
            )


def target_in_words(configured: Settings) -> str:
    """Describe where a stack deploys: the emulator with its data folder, or Google Cloud with its project."""
    if configured.endpoint == "emulator":
        return f"Emulator on this machine: data in {launcher.data_dir_of(configured.data_dir)}"
    project, location = configured.project or "not set", configured.location or "not set"
    return f"Google Cloud: project {project}, location {location}"


def start_emulator() -> None:
    """Start the emulator if the stack uses it and this is a deployment.

    The state of a job decides whether it runs again, so the emulator must be running. A preview starts
    nothing, nor does a program without an engine, as in a unit test. Raises `pulumi.RunError`.
    """
    configured = stack_settings()
    if configured.endpoint == "emulator" and engine_address() and not pulumi.runtime.is_dry_run():
        _start_once(configured)


@functools.lru_cache(maxsize=1)
def _start_once(configured: Settings) -> None:
    try:
        launcher.ensure(configured.data_dir, timeouts=configured.timeouts)
    except launcher.LauncherError as error:
        raise pulumi.RunError(messages.in_shell(str(error))) from None


def on_google() -> bool:
    """Return whether the stack uses Google Cloud (`vertex-training:endpoint`)."""
    return stack_settings().endpoint == "google"


def project() -> str:
    """Return the stack's project id. Raises `pulumi.RunError` if it is not configured."""
    return _required(stack_settings().project, "project", "PROJECT_ID")


def location() -> str:
    """Return the stack's region. Raises `pulumi.RunError` if it is not configured."""
    return _required(stack_settings().location, "location", "us-central1")


def _required(value: str | None, key: str, example: str) -> str:
    if not value:
        full = f"{configuration_keys.NAMESPACE}:{key}"
        words = f"{full} is not set for this stack. Run `pulumi config set {full} {example}`."
        raise pulumi.RunError(messages.in_shell(words))
    return value


def target_inputs(
    project: pulumi.Input[str] | None, location: pulumi.Input[str] | None
) -> dict[str, pulumi.Input[str] | None]:
    """Return endpoint, project and location from the arguments or the stack's configuration."""
    configured = stack_settings()
    return {
        "endpoint": configured.endpoint,
        "project": project if project is not None else configured.project or "",
        "location": location if location is not None else configured.location or "",
    }


def ownership(resource_name: str) -> dict[str, str]:
    """Return the ownership labels, which the provider puts on the resources that it makes."""
    return {"project": pulumi.get_project(), "stack": pulumi.get_stack(), "resource": resource_name}


def as_secret_as(value: object) -> pulumi.Output[None] | None:
    """Return an empty output that is secret if anything in the value is, None without outputs in it."""
    return pulumi.Output.from_input(value).apply(lambda _: None) if _has_outputs(value) else None


def _has_outputs(value: object) -> bool:
    """Return whether a value may contain an output."""
    if isinstance(value, Mapping):
        return any(map(_has_outputs, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_has_outputs, value))
    return not isinstance(value, (str, int, float, bool, type(None)))


def with_outputs(inputs: dict[str, Any], *outputs: str) -> dict[str, Any]:
    """Return the given inputs, a None for every output, and what the provider has to know besides.

    That is where the secrets are, and whether this is a preview.

    Pulumi does not show an output without an input of the same name.
    """
    given = {name: sendable(value) for name, value in inputs.items() if value is not None}
    paths = secret_paths(given, messages.note)
    secrets = {} if paths is None else {KEY: paths}
    preview = {PREVIEW_INPUT: True} if pulumi.runtime.is_dry_run() and not is_constructed() else {}
    return {**given, **{name: None for name in outputs if name not in given}, **secrets, **preview}
