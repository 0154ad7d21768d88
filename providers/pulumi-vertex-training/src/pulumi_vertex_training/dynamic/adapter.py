"""Pulumi's dynamic providers on the core's: the boundary between property maps and calls.

Values come in as dictionaries, with numbers as floats and unknown values as a marker string, and go back so.
"""

from __future__ import annotations

from collections.abc import Mapping
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

from pulumi_vertex_training.core import engine
from pulumi_vertex_training.core.call import Call
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.provider import Provider, carry_out, refusals
from pulumi_vertex_training.core.state.hidden_input import HANDED_OVER, KEY_INPUT, PREVIEW_INPUT
from pulumi_vertex_training.core.text_of_outputs import with_texts
from pulumi_vertex_training.dynamic import detailed_diff, process, request
from vertex_training.fields.decode import UNKNOWN

_PROVIDER = "__provider"


class DynamicProvider(ResourceProvider):
    """A provider of the core as a dynamic provider: stateless, and pickled by reference.

    A subclass has the `provider` of a kind and the name that states record (`providers`).
    """

    serialize_as_secret_always = False
    provider: ClassVar[Provider]

    def configure(self, req: ConfigureRequest) -> None:
        carry_out(lambda _: OPERATION.configure(req.config.get, process.DynamicHost()), Call())
        engine.leave_with(process.engine_address(), OPERATION.settings.timeouts)

    def check(self, _olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        call = self._call(inputs=news, old_inputs=_olds)
        found = carry_out(self.provider.check, call)
        if not found.is_refused:
            call.context.checked = found.inputs
            if not call.urn:
                OPERATION.rename(call.context, self.provider.stand_in(found.inputs))
        # Of a failure that names a property the engine prints the value too, secrets included.
        failures = [CheckFailure("", reason) for reason in refusals(with_texts(found, call.inputs), call)]
        return CheckResult(news if failures else outbound(found.inputs), failures)

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        found = carry_out(self.provider.diff, self._call(id=_id, outputs=_olds, inputs=_news))
        detailed_diff.hand_over(found.properties)
        return DiffResult(
            changes=found.changes,
            replaces=found.replaces,
            delete_before_replace=found.delete_before_replace,
        )

    def create(self, props: dict[str, Any]) -> CreateResult:
        process.expect_wait()
        made = carry_out(self.provider.create, self._call(inputs=props))
        return CreateResult(made.id, outbound(made.outputs))

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        process.expect_wait()
        call = self._call(id=_id, outputs=_olds, inputs=_news)
        return UpdateResult(outbound(carry_out(self.provider.update, call)))

    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        process.expect_wait()
        found = carry_out(self.provider.read, self._call(id=id_, outputs=props))
        if found is None:
            return ReadResult(None, {})
        inputs = None if found.inputs is None else outbound(found.inputs)
        return ReadResult(id_, outbound(found.outputs), inputs)

    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        process.expect_wait()
        carry_out(self.provider.delete, self._call(id=_id, outputs=_props))

    def _call(self, *, id: str = "", **values: Mapping[str, Any]) -> Call:  # noqa: A002  the field's name
        """Return the call of the engine's request. Old inputs are a check's."""
        of, props = request.current(), {name: inbound(each) for name, each in values.items()}
        inputs = props.get("inputs", {})
        context = OPERATION.context(of.urn or self.provider.stand_in(inputs or props.get("outputs", {})), id)
        if "old_inputs" in props:
            context.given = inputs
            # With the pickled provider, so that nothing else is recorded by an empty value.
            context.recorded = values["old_inputs"] or context.recorded
            props["inputs"] = {name: value for name, value in inputs.items() if name not in HANDED_OVER}
        key = context.given.get(KEY_INPUT)
        return Call(
            urn=of.urn,
            seed=of.seed,
            timeout=of.timeout,
            id=id,
            key=key if isinstance(key, str) else "",
            is_preview=context.given.get(PREVIEW_INPUT) is True,
            context=context,
            **props,
        )


def inbound(props: Mapping[str, Any]) -> dict[str, Any]:
    """Return the engine's properties with our marker for unknown values, without the pickled provider."""
    return {name: _inbound(value) for name, value in props.items() if name != _PROVIDER}


def outbound(props: Mapping[str, Any]) -> dict[str, Any]:
    """Return properties for the engine: the reverse of `inbound`."""
    return {name: _outbound(value) for name, value in props.items()}


def _inbound(value: object) -> Any:
    if isinstance(value, Unknown) or (isinstance(value, str) and value == rpc.UNKNOWN):
        return UNKNOWN
    if isinstance(value, Mapping):
        return {key: _inbound(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_inbound(item) for item in value]
    return value


def _outbound(value: object) -> Any:
    if value is UNKNOWN:
        return rpc.UNKNOWN
    if isinstance(value, Mapping):
        return {key: _outbound(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_outbound(item) for item in value]
    return value
