"""Construct a component in the plugin, for a program in any language: `pulumirpc.ResourceProvider.Construct`.

The class of the component is Python programs' own. Its children are resources of the package that the
plugin itself serves, and jobs are waited for by the plugin.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import grpc
import pulumi
from pulumi.resource import CustomTimeouts, DependencyProviderResource, DependencyResource
from pulumi.runtime import config, rpc, stack
from pulumi.runtime import settings as pulumis
from pulumi.runtime.proto import alias_pb2, engine_pb2, engine_pb2_grpc, resource_pb2_grpc
from pulumi.runtime.proto.provider_pb2 import ConstructRequest, ConstructResponse

from pulumi_vertex_training import registry
from pulumi_vertex_training.core.provider import Failure
from pulumi_vertex_training.core.settings import Settings
from pulumi_vertex_training.package.kinds import PackageKind, kind_of
from pulumi_vertex_training.package.wire import names
from pulumi_vertex_training.package.wire.messages import in_package
from pulumi_vertex_training.package.wire.sdk import CHANNEL_OPTIONS
from pulumi_vertex_training.printed_commands import runnable
from pulumi_vertex_training.program import component_inputs
from pulumi_vertex_training.program.resource import CONSTRUCTION, Construction
from vertex_training.fields.schema import field_types


@dataclass(frozen=True, kw_only=True)
class Component:
    """A component of the package.

    `hints` are the types of the arguments. `parts` are the arguments that may be those of a resource, with
    the name of its class; `needed` are the required ones of these. Arguments may be of the simple types in
    `otherwise` instead, and those in `lists` a list of strings. `passed_on` is the class of the resource that
    takes all other arguments, without those in `left_out`. `outputs` are their types; those in
    `always` always have a value.
    """

    made: Callable[..., pulumi.ComponentResource]
    hints: Mapping[str, Any]
    parts: Mapping[str, str]
    required: tuple[str, ...] = ()
    needed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    otherwise: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    lists: tuple[str, ...] = ()
    passed_on: str = ""
    left_out: tuple[str, ...] = ()
    outputs: Mapping[str, Any] = field(default_factory=dict)
    always: tuple[str, ...] = ()

    @functools.cached_property
    def inputs(self) -> type:
        """The arguments, as a class by which names are converted."""
        hints = {**self.hints, **{name: self.kind(name).inputs for name in self.parts}}
        if self.passed_on:
            hints = {**field_types(kind_of(registry.package_token(self.passed_on)).inputs), **hints}
        return dataclasses.make_dataclass("ComponentInputs", hints.items())

    def kind(self, part: str) -> PackageKind:
        return kind_of(registry.package_token(self.parts[part]))

    def construct(
        self, request: ConstructRequest, engine: str | None, provider: str, settings: Settings
    ) -> ConstructResponse:
        """Return the answer to a request, in an event loop of its own. Raises Failure."""
        CONSTRUCTION.set(construction := Construction(settings=settings))
        with grpc.insecure_channel(request.monitorEndpoint, options=CHANNEL_OPTIONS) as monitor:
            return asyncio.run(self._construct(request, _Engine(engine), monitor, provider, construction))

    async def _construct(
        self,
        request: ConstructRequest,
        engine: _Engine,
        monitor: grpc.Channel,
        provider: str,
        construction: Construction,
    ) -> ConstructResponse:
        pulumis.configure(
            pulumis.Settings(
                organization=request.organization or "organization",
                project=request.project,
                stack=request.stack,
                parallel=request.parallel or None,
                dry_run=request.dryRun,
                root_directory=os.getcwd(),  # noqa: PTH109  a text, as the SDK has it
                monitor=resource_pb2_grpc.ResourceMonitorStub(monitor),
                engine=engine,
            )
        )
        pulumis.set_root_resource(None)  # type: ignore[arg-type]
        await pulumis._load_monitor_feature_support()  # type: ignore[no-untyped-call]
        config.set_all_config(dict(request.config), list(request.configSecretKeys))
        try:
            given = component_inputs.read(request.inputs, request.inputDependencies)
            made = self.made(
                request.name, **names.inward(given, self.inputs), opts=_options(request, provider)
            )
            answer = await _answer(made, construction.outputs)
            await stack.wait_for_rpcs(await_all_outstanding_tasks=False)
        except Exception as error:
            # The SDK raises `Exception` itself if the engine refuses a resource.
            if isinstance(error, pulumi.RunError) or type(error) is Exception:
                raise Failure(runnable(str(error))) from None
            raise
        return answer


async def _answer(made: pulumi.ComponentResource, outputs: Mapping[str, Any]) -> ConstructResponse:
    dependencies: dict[str, list[pulumi.Resource]] = {}
    state = await rpc.serialize_properties(outputs, dependencies)
    urns = {
        name: [urn for each in found if (urn := await each.urn.future())]
        for name, found in dependencies.items()
    }
    of = ConstructResponse.PropertyDependencies
    return ConstructResponse(
        urn=await made.urn.future() or "",
        state=state,
        stateDependencies={name: of(urns=found) for name, found in urns.items()},
    )


class _Engine:
    """The engine as the SDK sees it. Messages have the spelling of the package."""

    def __init__(self, address: str | None) -> None:
        self._stub = None if address is None else engine_pb2_grpc.EngineStub(grpc.insecure_channel(address))

    def Log(self, request: engine_pb2.LogRequest, **options: Any) -> Any:  # noqa: N802  the service's name
        request.message = in_package(request.message)
        return self._stub.Log(request, **options) if self._stub is not None else None


def _options(request: ConstructRequest, provider: str) -> pulumi.ResourceOptions:
    """Return the component's options; its children inherit some. They use the plugin that constructs them."""
    references = dict(request.providers)
    if provider:
        references[registry.PACKAGE] = provider
    given = request.customTimeouts
    timeouts = CustomTimeouts(given.create or None, given.update or None, given.delete or None)
    return pulumi.ResourceOptions(
        parent=DependencyResource(request.parent) if request.parent else None,
        aliases=[_alias(each) for each in request.aliases],
        depends_on=[DependencyResource(urn) for urn in request.dependencies],
        protect=request.protect,
        providers={name: DependencyProviderResource(found) for name, found in references.items()},
        custom_timeouts=timeouts,
        ignore_changes=list(request.ignoreChanges),
        replace_on_changes=list(request.replaceOnChanges),
        retain_on_delete=request.retainOnDelete or None,
        deleted_with=DependencyResource(request.deletedWith) if request.deletedWith else None,
    )


def _alias(alias: alias_pb2.Alias) -> str | pulumi.Alias:
    if alias.urn:
        return str(alias.urn)
    spec = alias.spec
    given: dict[str, Any] = {
        "name": spec.name,
        "type_": spec.type,
        "stack": spec.stack,
        "project": spec.project,
        "parent": spec.parentUrn,
    }
    named = {name: value for name, value in given.items() if value}
    return pulumi.Alias(**named, **({"parent": None} if spec.noParent else {}))
