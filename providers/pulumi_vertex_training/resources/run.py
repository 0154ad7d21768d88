"""`Run`: the record of a job's present run. Internal; it shows in the list of resources beside its job."""

from __future__ import annotations

from typing import Any

import pulumi
from pulumi.dynamic import Resource

from pulumi_vertex_training.providers.run import RunProvider
from pulumi_vertex_training.resources.common import with_outputs


class Run(Resource, module="vertex-training", name="Run"):
    """The key under which the job of the present run is found; a new run updates it in place."""

    key: pulumi.Output[str]
    generation: pulumi.Output[int]

    def __init__(
        self,
        resource_name: str,
        *,
        declaration: dict[str, Any],
        run_token: pulumi.Input[str] | None,
        opts: pulumi.ResourceOptions | None,
    ) -> None:
        props = with_outputs(
            {"job": resource_name, "spec": declaration, "run_token": run_token}, "key", "generation"
        )
        super().__init__(RunProvider(), resource_name, props, _same_place(opts))


def _same_place(opts: pulumi.ResourceOptions | None) -> pulumi.ResourceOptions:
    """The job's options that say where it stands in the tree and what it was called before."""
    if opts is None:
        return pulumi.ResourceOptions()
    return pulumi.ResourceOptions(parent=opts.parent, aliases=_of_runs(opts.aliases), protect=opts.protect)


def _of_runs(aliases: Any) -> Any:
    """Aliases of the job, said of its run: a URN names a type, and the run has its own."""
    if aliases is None:
        return None
    return [alias.replace(":CustomJob::", ":Run::") if isinstance(alias, str) else alias for alias in aliases]
