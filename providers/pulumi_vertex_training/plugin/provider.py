"""The base of every provider: the boundary between Pulumi's property maps and frozen specs.

Data comes in as dictionaries, with numbers as floats and unknown values as a marker string. It is decoded
once and goes back as plain dictionaries. Errors leave as one clean sentence.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, ParamSpec, TypeVar

from pulumi.dynamic import CheckFailure, CheckResult, ConfigureRequest, ResourceProvider
from pulumi.output import Unknown
from pulumi.runtime import rpc

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.packaging.errors import PackagingError
from pulumi_vertex_training.plugin import text_of_outputs
from pulumi_vertex_training.plugin.host.process import EngineGoneError
from pulumi_vertex_training.plugin.operation import OPERATION
from pulumi_vertex_training.plugin.secret_masking import KEY, SECRETS
from pulumi_vertex_training.plugin.settings import SettingsError
from pulumi_vertex_training.printed_commands import runnable
from pulumi_vertex_training.runs.adoption import AdoptionError
from pulumi_vertex_training.runs.deletion import ProtectedError, StillRunningError
from vertex_emulator.launcher import LauncherError
from vertex_training.fields.decode import UNKNOWN, encode
from vertex_training.findings.problems import Problem
from vertex_training.findings.words import visible_lines

P = ParamSpec("P")
R = TypeVar("R")

DRIFT = "drift"
"""The output with the differences that a refresh found and that no deployment changes back, as sentences."""

_PROVIDER = "__provider"
_EXPECTED = (
    CloudError,
    LauncherError,
    AdoptionError,
    PackagingError,
    ProtectedError,
    StillRunningError,
    EngineGoneError,
    SettingsError,
)


class Failure(Exception):  # noqa: N818  the engine shows the class's name before the message
    """An error whose message is shown to the user unchanged."""


# Shown as "Failure: ..." instead of with this module's path before it.
Failure.__module__ = "builtins"


def clean(method: Callable[P, R]) -> Callable[P, R]:
    """Wrap a provider's method: raise an expected error as one line, and mask secrets.

    The chain of causes is dropped; neither printed lines nor errors show a secret.
    """

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        properties = [value for value in (*args, *kwargs.values()) if isinstance(value, Mapping)]
        with SECRETS.of_call(properties):
            try:
                return _printable(method(*args, **kwargs), properties)
            except (*_EXPECTED, Failure) as error:
                raise Failure(visible_lines(_runnable(SECRETS.masked(str(error)), properties))) from None

    return call


def _printable(result: R, properties: Sequence[Mapping[str, Any]]) -> R:
    """Return the result of a method; the commands in the failures of a check fit the user's shell."""
    if isinstance(result, CheckResult):
        for failure in result.failures or ():
            failure.reason = _runnable(failure.reason, properties)
    return result


def _runnable(text: str, properties: Sequence[Mapping[str, Any]]) -> str:
    stacks = {marks.get("stack") for each in properties if isinstance(marks := each.get("marks"), Mapping)}
    stack = stacks.pop() if len(stacks) == 1 else None
    return runnable(text, stack=stack if isinstance(stack, str) else None)


class Provider(ResourceProvider):
    """A stateless provider: pickled by reference, so its code never takes part in a diff.

    The reference is to `pulumi_vertex_training.providers`, wherever the class is defined.
    """

    serialize_as_secret_always = False
    checks_texts: ClassVar[bool] = True
    """True if a check reports texts with an Output in them. A `Run` leaves that to its job."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.checks_texts and "check" in cls.__dict__:
            cls.check = _with_texts_checked(cls.check)  # type: ignore[method-assign, assignment]
        if registry.PROVIDERS.get(cls.__name__) == cls.__module__:
            cls.__module__ = registry.ADDRESSES

    @clean
    def configure(self, req: ConfigureRequest) -> None:
        OPERATION.configure(req.config.get)


Check = Callable[[Any, dict[str, Any], dict[str, Any]], CheckResult]


def _with_texts_checked(check: Check) -> Check:
    """Wrap a check: report texts with an Output or a None in them, in place of what they break."""

    @functools.wraps(check)
    def call(self: Any, olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        result = check(self, olds, news)
        found = text_of_outputs.problems(inbound(news))
        if not found:
            return result
        paths = tuple(f"{problem.path}: " for problem in found)
        others = [each for each in result.failures or () if not each.reason.startswith(paths)]
        with SECRETS.of_call([news]):
            return CheckResult(news, [*failures(found), *others])

    return call


def inbound(props: Mapping[str, Any]) -> dict[str, Any]:
    """Return the engine's properties with our marker for unknown values.

    Leave out the pickled provider and the paths of secrets: only a check gets those, and no state.
    """
    return {name: _inbound(value) for name, value in props.items() if name not in (_PROVIDER, KEY)}


def outbound(props: Mapping[str, Any]) -> dict[str, Any]:
    """Return properties for the engine: the reverse of `inbound`."""
    return {name: _outbound(value) for name, value in props.items()}


def _inbound(value: Any) -> Any:
    if isinstance(value, Unknown) or (isinstance(value, str) and value == rpc.UNKNOWN):
        return UNKNOWN
    if isinstance(value, Mapping):
        return {key: _inbound(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_inbound(item) for item in value]
    return value


def _outbound(value: Any) -> Any:
    if value is UNKNOWN:
        return rpc.UNKNOWN
    if isinstance(value, Mapping):
        return {key: _outbound(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_outbound(item) for item in value]
    return value


def is_unknown(value: Any) -> bool:
    """Return whether the value, or anything inside it, is not known yet."""
    if value is UNKNOWN:
        return True
    if isinstance(value, Mapping):
        return any(is_unknown(item) for item in value.values())
    if isinstance(value, (list, tuple)):
        return any(is_unknown(item) for item in value)
    return False


def failures(problems: Sequence[Problem]) -> list[CheckFailure]:
    """Return the errors among the problems in the engine's form; all of them, each with its path.

    The path is in the text: of a failure that names a property the engine prints the value too, secrets
    included, or "<nil>" for one inside another.
    """
    return [
        CheckFailure("", visible_lines(str(_masked(problem))))
        for problem in problems
        if problem.level == "error"
    ]


def _masked(problem: Problem) -> Problem:
    """Return the finding without the secrets in its message; a path has none."""
    return dataclasses.replace(problem, message=SECRETS.masked(problem.message))


def warnings(resource: str, problems: Sequence[Problem]) -> list[str]:
    """Return the warnings among the problems, as lines for the user."""
    return [
        f"warning: {resource}: {problem.path}: {problem.message}"
        for problem in problems
        if problem.level == "warning"
    ]


def complete(spec: object, *, unknown: Collection[str] = ()) -> dict[str, Any]:
    """Return the spec's plain values as the state keeps them, with its defaults made explicit.

    A default that changes in a later version then shows as a change, instead of silently changing the
    resource.
    """
    plain = encode(spec, unknown=unknown)
    defaults = {
        item.name: getattr(spec, item.name)
        for item in dataclasses.fields(spec)  # type: ignore[arg-type]
        if item.name not in plain and isinstance(getattr(spec, item.name), (str, int))
    }
    return {**plain, **defaults}
