"""Pulumi's dynamic providers on the core's: the boundary between property maps and calls.

Values come in as dictionaries, with numbers as floats and unknown values as a marker string, and go back so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pulumi.dynamic import (
    CheckFailure,
    CheckResult,
    ConfigureRequest,
    CreateResult,
    DiffResult,
    ReadResult,
    ResourceProvider,
    UpdateResult,
)
from pulumi.output import Unknown
from pulumi.runtime import rpc

from pulumi_vertex_training.core.call import Call, Checked
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.provider import Provider, carry_out
from pulumi_vertex_training.core.secret_masking import SECRETS
from pulumi_vertex_training.dynamic import process, request, text_of_outputs
from pulumi_vertex_training.dynamic.request import Request
from pulumi_vertex_training.printed_commands import runnable
from vertex_training.fields.decode import UNKNOWN
from vertex_training.findings.problems import Problem
from vertex_training.findings.words import visible_lines

_PROVIDER = "__provider"


class DynamicProvider(ResourceProvider):
    """A provider of the core as a dynamic provider: stateless, and pickled by reference.

    A subclass has the `provider` of a kind and the name that states record (`providers`).
    """

    serialize_as_secret_always = False
    provider: ClassVar[Provider]

    def configure(self, req: ConfigureRequest) -> None:
        carry_out(lambda _: OPERATION.configure(req.config.get, process.DynamicHost()), Call())
        process.leave_with_engine(OPERATION.settings.timeouts)

    def check(self, _olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        call = _call(request.current(), inputs=news, old_inputs=_olds)
        found = carry_out(self.provider.check, call)
        with SECRETS.of_call([call.inputs, call.old_inputs]):
            failures = _failures(_with_texts(found, call), call.stack)
        return CheckResult(news if failures else outbound(found.inputs), failures)

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        found = carry_out(self.provider.diff, _call(request.current(), id=_id, outputs=_olds, inputs=_news))
        return DiffResult(
            changes=found.changes,
            replaces=list(found.replaces),
            delete_before_replace=found.delete_before_replace,
        )

    def create(self, props: dict[str, Any]) -> CreateResult:
        made = carry_out(self.provider.create, _call(request.current(), inputs=props))
        return CreateResult(made.id, outbound(made.outputs))

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        call = _call(request.current(), id=_id, outputs=_olds, inputs=_news)
        return UpdateResult(outbound(carry_out(self.provider.update, call)))

    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        found = carry_out(self.provider.read, _call(request.current(), id=id_, outputs=props))
        if found is None:
            return ReadResult(None, {})
        inputs = None if found.inputs is None else outbound(found.inputs)
        return ReadResult(id_, outbound(found.outputs), inputs)

    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        carry_out(self.provider.delete, _call(request.current(), id=_id, outputs=_props))


def _call(of: Request, *, id: str = "", **values: Mapping[str, Any]) -> Call:  # noqa: A002  the field's name
    return Call(
        urn=of.urn, seed=of.seed, timeout=of.timeout, id=id, **{k: inbound(v) for k, v in values.items()}
    )


def inbound(props: Mapping[str, Any]) -> dict[str, Any]:
    """Return the engine's properties with our marker for unknown values, without the pickled provider."""
    return {name: _inbound(value) for name, value in props.items() if name != _PROVIDER}


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


def _with_texts(found: Checked, call: Call) -> Sequence[Problem]:
    """Return the findings of a check; texts with an Output or a None in them in place of what they break."""
    texts = text_of_outputs.problems(call.inputs)
    broken = {problem.path for problem in texts}
    return [*texts, *(problem for problem in found.problems if problem.path not in broken)]


def _failures(problems: Sequence[Problem], stack: str | None) -> list[CheckFailure]:
    """Return the errors among the problems in the engine's form; all of them, each with its path.

    The path is in the text: of a failure that names a property the engine prints the value too, secrets
    included, or "<nil>" for one inside another. A path has no secret.
    """
    return [
        CheckFailure(
            "",
            visible_lines(
                runnable(
                    str(dataclasses.replace(problem, message=SECRETS.masked(problem.message))), stack=stack
                )
            ),
        )
        for problem in problems
        if problem.level == "error"
    ]
