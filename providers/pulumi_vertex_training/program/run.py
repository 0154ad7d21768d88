"""`Run`: the record of a job's present run. Internal; it shows in the list of resources beside its job."""

from __future__ import annotations

from typing import Any, ClassVar

import pulumi
from pulumi.dynamic import Resource

from pulumi_vertex_training import registry
from pulumi_vertex_training.plugin.running.hidden_input import HIDDEN_INPUT
from pulumi_vertex_training.plugin.running.run import RunProvider
from pulumi_vertex_training.plugin.settings import TARGET_FIELDS
from pulumi_vertex_training.program.resource import with_outputs
from pulumi_vertex_training.registry import type_token


class Run(Resource, module="run", name="Run"):
    """The key under which the job of the present run is found; a new run updates it in place.

    `Run` itself is that of custom jobs; every other kind has a subclass with a type of its own, so that two
    resources of different kinds may have one name. `of` is the name of the kind's resource class.
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
        super().__init__(RunProvider(), resource_name, props, self._same_place(opts))

    def _same_place(self, opts: pulumi.ResourceOptions | None) -> pulumi.ResourceOptions:
        """The job's options that say where it stands in the tree, what it was called and what stays as it
        is.
        """
        if opts is None:
            return pulumi.ResourceOptions()
        return pulumi.ResourceOptions(
            parent=opts.parent,
            aliases=opts.aliases and [self._of_run(alias) for alias in opts.aliases],
            protect=opts.protect,
            retain_on_delete=opts.retain_on_delete,
            # The run has the job's fields in one hash, so it cannot ignore one of them. The job itself is
            # compared field by field; a protected one is refused, and no run is on record for what was
            # refused.
            ignore_changes=[f"{HIDDEN_INPUT}.spec"] if opts.ignore_changes or opts.protect else None,
        )

    def _of_run(self, alias: Any) -> Any:
        """An alias of the job, said of its run: a URN names a type, and the run has its own."""
        if isinstance(alias, pulumi.Output):
            return alias.apply(self._of_run)
        if not isinstance(alias, str):
            return alias
        return alias.replace(f"{type_token(self.of)}::", f"{type_token(type(self).__name__)}::")
