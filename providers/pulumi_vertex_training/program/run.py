"""`Run`: the record of a job's present run. Internal, but shown in the list of resources."""

from __future__ import annotations

from typing import Any, ClassVar

import pulumi
from pulumi.dynamic import Resource

from pulumi_vertex_training import registry
from pulumi_vertex_training.core.running.hidden_input import HIDDEN_INPUT, LOOKUPS
from pulumi_vertex_training.core.settings import TARGET_FIELDS
from pulumi_vertex_training.program.preview import prerequisites as lookups
from pulumi_vertex_training.program.resource import ProviderReference, with_outputs
from pulumi_vertex_training.registry import type_token

AliasLike = pulumi.Input[str | pulumi.Alias]


class Run(Resource, module="run", name="Run"):
    """Key by which the job of the present run is found. A new run updates it in place.

    `Run` is for custom jobs. Every other kind has a subclass with its own type, so that resources of
    different kinds may have the same name. `of` is the name of the kind's resource class.
    """

    of: ClassVar[str] = "CustomJob"

    key: pulumi.Output[str]
    generation: pulumi.Output[int]
    reruns: pulumi.Output[int]
    reason: pulumi.Output[str | None]

    def __init__(
        self,
        resource_name: str,
        *,
        declaration: dict[str, Any],
        collection: str,
        run_token: pulumi.Input[str] | None,
        policy: dict[str, Any],
        opts: pulumi.ResourceOptions | None,
    ) -> None:
        hidden = {"job": resource_name, "spec": declaration}
        if collection != registry.CUSTOM_JOB.collection:
            hidden["collection"] = collection
        props = with_outputs(
            {
                HIDDEN_INPUT: hidden,
                "run_token": run_token,
                **policy,
                **{name: declaration.get(name) for name in TARGET_FIELDS},
            },
            *("key", "generation", "reruns", "reason"),
        )
        props[LOOKUPS] = lookups.run_input(declaration, resource_name, type_token(self.of), opts)
        super().__init__(ProviderReference("RunProvider"), resource_name, props, self._options(opts))

    def _options(self, opts: pulumi.ResourceOptions | None) -> pulumi.ResourceOptions:
        """Return the job's options that also apply to its run: parent, aliases, and protections."""
        if opts is None:
            return pulumi.ResourceOptions()
        return pulumi.ResourceOptions(
            parent=opts.parent,
            aliases=opts.aliases and [self._run_alias(alias) for alias in opts.aliases],
            protect=opts.protect,
            retain_on_delete=opts.retain_on_delete,
            # The run has all of the job's fields in one hash, so it cannot ignore just some of them. The
            # job itself is compared field by field. A change of a protected job is refused, so its run must
            # not change either.
            ignore_changes=[f"{HIDDEN_INPUT}.spec"] if opts.ignore_changes or opts.protect else None,
        )

    def _run_alias(self, alias: AliasLike) -> AliasLike:
        """Convert an alias of the job to its run. A URN contains the type, which differs."""
        if isinstance(alias, pulumi.Output):
            return alias.apply(self._run_alias)
        if not isinstance(alias, str):
            return alias
        return alias.replace(f"{type_token(self.of)}::", f"{type_token(type(self).__name__)}::")
