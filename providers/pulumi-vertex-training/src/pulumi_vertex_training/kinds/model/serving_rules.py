"""The rules of the container that serves a model's predictions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from pulumi_vertex_training.kinds.model.spec import ModelContainerSpec, Probe
from vertex_training.fields import durations
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import all_of, shown
from vertex_training.topology.rules import tasks
from vertex_training.topology.rules.images import image_problems

LONGEST_DEPLOYMENT = 7200
"""The longest deployment timeout, in seconds."""

_API = "Vertex AI API, ModelContainerSpec"

SERVING_PORT = Rule(
    name="serving-port",
    says="a port is a number from 1 to 65535",
    source="Vertex AI API, Port.container_port",
)
SERVING_ROUTE = Rule(
    name="serving-route",
    says="a route is a path that begins with a slash",
    source=f"{_API}.predict_route and .health_route, by their examples",
    level="warning",
)
SERVING_ROUTES = Rule(
    name="serving-routes",
    says="predict_route and invoke_route_prefix exclude each other",
    source=f"{_API}.invoke_route_prefix",
)
SERVING_PREFIX = Rule(
    name="serving-prefix", says="the only invoke_route_prefix is /*", source=f"{_API}.invoke_route_prefix"
)
SERVING_TIMEOUT = Rule(
    name="serving-timeout", says="a deployment may take 2 hours at most", source=f"{_API}.deployment_timeout"
)
SERVING_MEMORY = Rule(
    name="serving-memory", says="shared memory is 0 MB or more", source=f"{_API}.shared_memory_size_mb"
)
SERVING_PROBE = Rule(
    name="serving-probe",
    says="a probe has one action",
    source="Vertex AI API, Probe.probe_type, one of its fields",
)
SERVING_PROBE_NUMBER = Rule(
    name="serving-probe-number",
    says="the numbers of a probe are 0, for the service's default, or more",
    source="Vertex AI API, Probe",
)
SERVING_SCHEME = Rule(
    name="serving-scheme",
    says="a probe's scheme is HTTP or HTTPS",
    source="Vertex AI API, Probe.HttpGetAction.scheme",
)

_PORTS = range(1, 65536)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ACTIONS = ("exec", "http_get", "grpc", "tcp_socket")
_NUMBERS = (
    "period_seconds",
    "timeout_seconds",
    "failure_threshold",
    "success_threshold",
    "initial_delay_seconds",
)


def container_problems(spec: ModelContainerSpec, path: str) -> Iterator[Problem]:
    """Yield every finding about a serving container, in the order of its fields."""
    yield from image_problems(spec.image_uri, f"{path}.image_uri")
    yield from _env_problems(spec, path)
    for name in ("ports", "grpc_ports"):
        for i, port in enumerate(getattr(spec, name)):
            yield from _port_problems(port.container_port, f"{path}.{name}[{i}].container_port")
    yield from _route_problems(spec, path)
    if spec.deployment_timeout:
        yield from _timeout_problems(spec.deployment_timeout, f"{path}.deployment_timeout")
    if spec.shared_memory_size_mb < 0:
        yield SERVING_MEMORY.broken(
            f"{path}.shared_memory_size_mb", f"{spec.shared_memory_size_mb} MB; give 0 or more"
        )
    for name in ("startup_probe", "health_probe", "liveness_probe"):
        probe = getattr(spec, name)
        if probe is not None:
            yield from _probe_problems(probe, f"{path}.{name}")


def _env_problems(spec: ModelContainerSpec, path: str) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for i, variable in enumerate(spec.env):
        below = f"{path}.env[{i}].name"
        if not _NAME.fullmatch(variable.name):
            yield tasks.ENV_NAME.broken(
                below,
                f"{shown(variable.name)} cannot name a variable; use letters, digits and "
                "underscores, and no digit first",
            )
        elif variable.name in first:
            earlier = f"env[{first[variable.name]}]"
            yield tasks.ENV_TWICE.broken(
                below,
                f"{variable.name} is set twice, first in {earlier}; names must be unique, keep one",
                rests_on=(below, f"{path}.{earlier}.name"),
            )
        first.setdefault(variable.name, i)


def _route_problems(spec: ModelContainerSpec, path: str) -> Iterator[Problem]:
    for name in ("predict_route", "health_route"):
        route = getattr(spec, name)
        if route and not route.startswith("/"):
            yield SERVING_ROUTE.broken(
                f"{path}.{name}", f"{shown(route)} is not a path; write {shown('/' + route)}"
            )
    prefix = spec.invoke_route_prefix
    if prefix and spec.predict_route:
        yield SERVING_ROUTES.broken(
            f"{path}.invoke_route_prefix",
            f"{shown(prefix)} is given together with predict_route; keep one of them",
            rests_on=(f"{path}.invoke_route_prefix", f"{path}.predict_route"),
        )
    elif prefix and prefix != "/*":
        yield SERVING_PREFIX.broken(
            f"{path}.invoke_route_prefix", f"{shown(prefix)} is not supported; write '/*', or leave it out"
        )


def _timeout_problems(text: str, path: str) -> Iterator[Problem]:
    fault = durations.problem_with(text)
    if fault is None and Decimal(text.removesuffix("s")) > LONGEST_DEPLOYMENT:
        fault = f"{text!r} is longer than 2 hours; write {LONGEST_DEPLOYMENT}s or less"
    if fault is not None:
        yield SERVING_TIMEOUT.broken(path, fault)


def _probe_problems(probe: Probe, path: str) -> Iterator[Problem]:
    given = [name for name in _ACTIONS if getattr(probe, name) is not None]
    if len(given) != 1:
        has = f"has {all_of(given)}" if given else "does nothing"
        yield SERVING_PROBE.broken(
            path,
            f"{has}; give one of {', '.join(_ACTIONS)}",
            rests_on=tuple(f"{path}.{name}" for name in _ACTIONS),
        )
    for name in _NUMBERS:
        if getattr(probe, name) < 0:
            yield SERVING_PROBE_NUMBER.broken(
                f"{path}.{name}", f"{getattr(probe, name)} is below 0; leave it out for the service's default"
            )
    if probe.http_get is not None and probe.http_get.scheme not in (None, "", "HTTP", "HTTPS"):
        yield SERVING_SCHEME.broken(
            f"{path}.http_get.scheme", f"{shown(probe.http_get.scheme)} is not a scheme; write HTTP or HTTPS"
        )
    for name in ("http_get", "grpc", "tcp_socket"):
        action = getattr(probe, name)
        if action is not None:
            yield from _port_problems(action.port, f"{path}.{name}.port")


def _port_problems(port: int, path: str) -> Iterator[Problem]:
    if port not in _PORTS:
        yield SERVING_PORT.broken(path, f"{port} is not a port; give a number from 1 to 65535")
