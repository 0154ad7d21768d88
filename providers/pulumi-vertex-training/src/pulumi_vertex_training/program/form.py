"""The base of all resources, which registers each in the form of the stack (`vertex-training:form`).

The form `dynamic` uses Pulumi's dynamic providers. In the form `package` the plugin `vertex-training`
serves the resource, as it does for programs in YAML: the state is the same. The names of its properties are
converted here at the top only; the plugin takes both spellings below, and keeps the keys of maps.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pulumi
from pulumi import dynamic

from pulumi_vertex_training import plugin_folder, registry
from pulumi_vertex_training.core.secret_masking import KEY
from pulumi_vertex_training.core.state.hidden_input import COMPONENT, HIDDEN_INPUT, INTERNAL, PROGRAM_INPUT
from pulumi_vertex_training.dynamic.process import engine_address
from pulumi_vertex_training.package import launcher
from pulumi_vertex_training.package.wire import names
from pulumi_vertex_training.package.wire.names import wire_name
from pulumi_vertex_training.program import messages
from pulumi_vertex_training.program.resource import (
    CONSTRUCTION,
    ProviderReference,
    is_constructed,
    stack_settings,
)
from pulumi_vertex_training.pulumi_command import project_file

_CONVERTED = "_vertex_training_outputs"
_OF_PLUGIN = frozenset({"endpoint", "marks", "asked_by", HIDDEN_INPUT, KEY})
"""Inputs that a program makes for dynamic providers. The plugin makes them itself, or needs none."""
_INSIDE = ("endpoint", "asked_by")
"""Outputs of resources that the plugin keeps among the internal ones."""
_PATHS = ("ignore_changes", "additional_secret_outputs", "replace_on_changes", "hide_diffs")
"""Options with paths of properties."""


class Resource(dynamic.Resource):
    """Base of the resources of all kinds. `kind` is the name of its class in the registry."""

    def __init__(
        self, kind: str, resource_name: str, props: dict[str, Any], opts: pulumi.ResourceOptions | None
    ) -> None:
        if stack_settings().form == "dynamic":
            super().__init__(ProviderReference(f"{kind}Provider"), resource_name, props, opts)
            return
        _require_plugin()
        token = registry.package_token(kind)
        wired, opts = _with_paths(token, _wire(props), opts)
        pulumi.CustomResource.__init__(self, token, resource_name, wired, opts)
        _take_over(self, props)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return an output with parts, whose names are converted when a program asks for it."""
            if (output := self.__dict__.get(_CONVERTED, {}).get(name)) is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return output.apply(functools.partial(_inward, self.pulumi_resource_type, name))


@functools.lru_cache(maxsize=1)
def _require_plugin() -> None:
    """Raise `pulumi.RunError` if Pulumi finds no plugin of this version, unless the project names one."""
    if engine_address() is None:  # a unit test
        return
    file = project_file(Path(pulumi.get_root_directory() or ".").absolute())
    named = file is not None and launcher.PROGRAM in file.read_text(encoding="utf-8", errors="replace")
    if not named and (problem := plugin_folder.missing()):
        raise pulumi.RunError(messages.in_shell(problem))


def recorded_output(resource: pulumi.Resource, name: str) -> pulumi.Output[Any] | None:
    """Return an output as the resource is registered with it, whatever property of its class has the name."""
    found = vars(resource).get(name, vars(resource).get(_CONVERTED, {}).get(name))
    return found if isinstance(found, pulumi.Output) else None


def component_outputs(
    outputs: Mapping[str, Any], job: pulumi.Resource | None = None, of_job: Collection[str] = ()
) -> dict[str, Any]:
    """Return the outputs that a component registers. Its job's are for other languages than Python."""
    construction = CONSTRUCTION.get()
    if construction is None:
        return dict(outputs)
    found = {name: recorded_output(job, name) for name in of_job if job is not None}
    construction.outputs.update({wire_name(name): value for name, value in {**found, **outputs}.items()})
    return construction.outputs


def recorded_names(
    resource: pulumi.Resource, found: dict[str, Any], secret: Collection[str]
) -> tuple[dict[str, Any], frozenset[str]]:
    """Return facts about a resource, and the names of secret outputs, as its state has them."""
    if INTERNAL not in vars(resource):
        return found, frozenset(secret)
    from pulumi_vertex_training.package.kinds import kind_of  # imported only if needed

    return kind_of(resource.pulumi_resource_type).outward(found), frozenset(map(wire_name, secret))


def _wire(props: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs for the plugin, with a None for each output, and what a check is told besides."""
    given = {wire_name(name): value for name, value in props.items() if name not in _OF_PLUGIN}
    hidden = dict.fromkeys((HIDDEN_INPUT, INTERNAL))
    return {**given, **hidden, PROGRAM_INPUT: COMPONENT if is_constructed() else "python"}


def _take_over(resource: pulumi.Resource, props: Mapping[str, Any]) -> None:
    """Give the outputs of a registered resource the names of Python."""
    outputs = vars(resource)
    converted = outputs.setdefault(_CONVERTED, {})
    for name, value in props.items():
        if name in _OF_PLUGIN:
            continue
        output = outputs.pop(wire_name(name))
        has_parts = isinstance(value, (Mapping, list, tuple, pulumi.Output)) and not name.startswith("__")
        (converted if has_parts else outputs)[name] = output
    inside: pulumi.Output[dict[str, Any]] = outputs[INTERNAL]
    for name in _INSIDE:
        if name in props:
            outputs[name] = inside.apply(functools.partial(_hidden_output, name))


def _hidden_output(name: str, inside: Mapping[str, Any] | None) -> Any:
    return (inside or {}).get(name)


def _inward(token: str, name: str, value: object) -> Any:
    """Return the value of an output with the names of Python."""
    from pulumi_vertex_training.package.kinds import kind_of  # imported only if needed

    return names.inward({name: value}, kind_of(token).inputs)[name]


def _with_paths(
    token: str, props: dict[str, Any], opts: pulumi.ResourceOptions | None
) -> tuple[dict[str, Any], pulumi.ResourceOptions | None]:
    """Return inputs and options whose paths have the names of the wire.

    The engine follows the paths before the plugin sees the inputs, so these need the names at each depth.
    """
    given = {name: paths for name in _PATHS if opts is not None and (paths := getattr(opts, name, None))}
    if opts is None or not given:
        return props, opts
    from pulumi_vertex_training.package.kinds import kind_of  # imported only if needed

    inputs = kind_of(token).inputs
    changed = pulumi.ResourceOptions.merge(None, opts)
    for name, paths in given.items():
        setattr(changed, name, [names.text_outward(path, inputs) for path in paths])

    def outward(name: str, value: object) -> Any:
        return names.outward({name: value}, inputs)[name]

    return {
        name: value.apply(functools.partial(outward, name), run_with_unknowns=True)
        if isinstance(value, pulumi.Output)
        else outward(name, value)
        for name, value in props.items()
    }, changed
