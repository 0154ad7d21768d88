"""`Run`: the record of a job's present run. Internal; it shows in the list of resources beside its job."""

from __future__ import annotations

from typing import Any

import pulumi
from pulumi.dynamic import Resource

from pulumi_vertex_training.providers.run import PLACE, RunProvider
from pulumi_vertex_training.resources.common import with_outputs


class Run(Resource, module="vertex-training", name="Run"):
    """The key under which the job of the present run is found; a new run updates it in place."""

    key: pulumi.Output[str]
    generation: pulumi.Output[int]
    reruns: pulumi.Output[int]

    def __init__(
        self,
        resource_name: str,
        *,
        declaration: dict[str, Any],
        run_token: pulumi.Input[str] | None,
        policy: dict[str, Any],
        opts: pulumi.ResourceOptions | None,
    ) -> None:
        props = with_outputs(
            {
                "job": resource_name,
                "spec": declaration,
                "run_token": run_token,
                **policy,
                **{name: declaration.get(name) for name in PLACE},
            },
            *("key", "generation", "reruns"),
        )
        super().__init__(RunProvider(), resource_name, props, _same_place(opts))


def _same_place(opts: pulumi.ResourceOptions | None) -> pulumi.ResourceOptions:
    """The job's options that say where it stands in the tree, what it was called and what stays as it is."""
    if opts is None:
        return pulumi.ResourceOptions()
    return pulumi.ResourceOptions(
        parent=opts.parent,
        aliases=opts.aliases and [_of_run(alias) for alias in opts.aliases],
        protect=opts.protect,
        retain_on_delete=opts.retain_on_delete,
        # The run has the job's fields in one hash, so it cannot ignore one of them. The job itself is
        # compared field by field; a protected one is refused, and no run is on record for what was refused.
        ignore_changes=["spec"] if opts.ignore_changes or opts.protect else None,
    )


def _of_run(alias: Any) -> Any:
    """An alias of the job, said of its run: a URN names a type, and the run has its own."""
    if isinstance(alias, pulumi.Output):
        return alias.apply(_of_run)
    return alias.replace(":CustomJob::", ":Run::") if isinstance(alias, str) else alias
