"""`PersistentResource`: machines that stay, on which training jobs start at once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
from pulumi.dynamic import Resource

from pulumi_vertex_training.kinds.persistent_resource import readiness
from pulumi_vertex_training.kinds.persistent_resource.args import ResourcePools, ResourceRuntimeSpecArgs
from pulumi_vertex_training.kinds.persistent_resource.provider import OUTPUTS, PersistentResourceProvider
from pulumi_vertex_training.plugin import connection, timeouts
from pulumi_vertex_training.program import checks as arguments
from pulumi_vertex_training.program import interruption
from pulumi_vertex_training.program.job_args import EncryptionSpecArgs, PscInterfaceConfigArgs
from pulumi_vertex_training.program.resource import ownership, stack_settings, target_inputs, with_outputs


class PersistentResource(Resource, module="persistentResource", name="PersistentResource"):
    """Machines that stay until it is destroyed; a `CustomJob` with `persistent_resource_id` runs on them.

    The size of its pools, its display name and its labels change in place; everything else replaces it. How
    many machines an autoscaled pool has at the moment is never a change.
    """

    persistent_resource_id: pulumi.Output[str]
    resource_pools: pulumi.Output[list[dict[str, Any]]]
    asked_by: pulumi.Output[str | None]
    endpoint: pulumi.Output[str]
    project: pulumi.Output[str]
    location: pulumi.Output[str]
    declared: Mapping[str, Any]
    """What the jobs on it are checked against."""

    def __init__(
        self,
        resource_name: str,
        *,
        resource_pools: ResourcePools,
        persistent_resource_id: pulumi.Input[str] | None = None,
        display_name: pulumi.Input[str] | None = None,
        labels: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None = None,
        network: pulumi.Input[str] | None = None,
        reserved_ip_ranges: pulumi.Input[Sequence[pulumi.Input[str]]] | None = None,
        psc_interface_config: pulumi.Input[PscInterfaceConfigArgs | Mapping[str, Any]] | None = None,
        encryption_spec: pulumi.Input[EncryptionSpecArgs | Mapping[str, Any]] | None = None,
        resource_runtime_spec: pulumi.Input[ResourceRuntimeSpecArgs | Mapping[str, Any]] | None = None,
        reboot_token: pulumi.Input[str] | None = None,
        allow_unknown_types: bool = False,
        allow_legacy_types: bool = False,
        wait: bool = True,
        wait_timeout: float = readiness.DEFAULT_TIMEOUT,
        project: pulumi.Input[str] | None = None,
        location: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **more: Any,
    ) -> None:
        """Declare a persistent resource.

        :param resource_pools: the machines, each pool of one kind: `machine_spec`, `replica_count`, and if
            wanted `id`, `disk_spec` and `autoscaling_spec`. A worker pool of a job needs a pool with just its
            machine and disk.
        :param persistent_resource_id: default: made from the resource's name, and kept when an alias renames
            that.
        :param display_name: a name for people; default: none.
        :param network: the full name of a peered network, which the jobs on it then have to have, too.
        :param encryption_spec: the key, which the jobs on it then have to have, too.
        :param resource_runtime_spec: whether jobs bring service accounts; a Ray cluster's settings.
        :param reboot_token: any string; another one restarts all machines, which no job may be using.
        :param allow_unknown_types: machine and accelerator types that this version does not know are a
            warning instead of an error, for types that Google has added since.
        :param allow_legacy_types: accept types that Google has retired, such as NVIDIA_TESLA_K80.
        :param wait: whether a deployment waits until it runs, and the output `persistent_resource_id` with
            it; `ready` does so in any case.
        :param wait_timeout: seconds; past it the deployment goes on with a warning.
        :param more: arguments that there are not; they are refused by name.
        """
        arguments.require(
            resource_name,
            [
                *arguments.unknown(more, _ARGUMENTS),
                arguments.flag("wait", wait),
                arguments.seconds("wait_timeout", wait_timeout),
            ],
        )
        inputs = {
            "persistent_resource_id": persistent_resource_id,
            "resource_pools": resource_pools,
            "display_name": display_name,
            "labels": labels,
            "network": network,
            "reserved_ip_ranges": reserved_ip_ranges,
            "psc_interface_config": psc_interface_config,
            "encryption_spec": encryption_spec,
            "resource_runtime_spec": resource_runtime_spec,
            "reboot_token": reboot_token,
            "allow_unknown_types": allow_unknown_types or None,
            "allow_legacy_types": allow_legacy_types or None,
            "marks": ownership(resource_name),
            timeouts.KEY: timeouts.declared(opts),
            **target_inputs(project, location),
        }
        first = pulumi.ResourceOptions(delete_before_replace=True)
        super().__init__(
            PersistentResourceProvider(),
            resource_name,
            with_outputs(inputs, *OUTPUTS, "persistent_resource_id"),
            pulumi.ResourceOptions.merge(opts, first),
        )
        checked = ("resource_pools", "network", "encryption_spec", "resource_runtime_spec")
        self.declared = {name: inputs[name] for name in checked if inputs[name] is not None}
        self._timeout = wait_timeout
        self._ready: pulumi.Output[str] | None = None
        self._id = self.persistent_resource_id
        if wait and not pulumi.runtime.is_dry_run():
            interruption.listen()
            # A job is given this one as well, and is refused until the resource runs.
            self.persistent_resource_id = self.ready

    @property
    def ready(self) -> pulumi.Output[str]:
        """Its id, known when it runs; in a preview at once. Jobs that are given the resource wait for it."""
        if self._ready is None:
            if pulumi.runtime.is_dry_run():
                self._ready = self._id
            else:
                self._ready = pulumi.Output.all(
                    name=self.id,
                    endpoint=self.endpoint,
                    project=self.project,
                    location=self.location,
                    asked_by=self.asked_by,
                ).apply(self._wait)
        return self._ready

    async def _wait(self, facts: dict[str, Any]) -> Any:
        where = (facts["endpoint"], facts["project"], facts["location"], stack_settings())
        return await readiness.ready(
            self,
            functools.partial(connection.connect, *where),
            facts["name"],
            timeout=self._timeout,
            asked_by=facts["asked_by"],
        )


_ARGUMENTS = [
    name
    for name, parameter in inspect.signature(PersistentResource.__init__).parameters.items()
    if parameter.kind is inspect.Parameter.KEYWORD_ONLY
]
