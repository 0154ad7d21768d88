"""`PersistentResource`: machines that stay, on which training jobs start at once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pulumi

from pulumi_vertex_training.core import connection
from pulumi_vertex_training.core.waiting import DEFAULT_TIMEOUT
from pulumi_vertex_training.kinds.persistent_resource import gateway, readiness, spec
from pulumi_vertex_training.kinds.persistent_resource.args import ResourcePoolArgs, ResourceRuntimeSpecArgs
from pulumi_vertex_training.kinds.persistent_resource.provider import OUTPUTS
from pulumi_vertex_training.program.arguments import checks as arguments
from pulumi_vertex_training.program.arguments.job_args import EncryptionSpecArgs, PscInterfaceConfigArgs
from pulumi_vertex_training.program.arguments.named_arguments import named_arguments, unknown_arguments
from pulumi_vertex_training.program.arguments.worker_pools import field_of, has_fields, with_fields
from pulumi_vertex_training.program.form import Resource
from pulumi_vertex_training.program.preview import cost_limits
from pulumi_vertex_training.program.preview.conflicts import conflict_inputs
from pulumi_vertex_training.program.preview.machine_costs import announce_machines
from pulumi_vertex_training.program.resource import (
    is_constructed,
    ownership,
    stack_settings,
    target_inputs,
    with_outputs,
)
from pulumi_vertex_training.program.stack_key import key_input
from pulumi_vertex_training.program.waiting import interruption
from pulumi_vertex_training.program.waiting.waits import Wait, declared, deploys
from vertex_training.fields.decode import decode

if TYPE_CHECKING:
    from vertex_training.cost.cost import Cost
    from vertex_training.cost.prices import PriceTable


class PersistentResource(Resource, module="persistentResource", name="PersistentResource"):
    """Machines that stay until the resource is destroyed, for jobs with its `persistent_resource_id`.

    The current size of an autoscaled pool is never a change. See docs/guides/jobs/persistent-resources.md.
    """

    persistent_resource_id: pulumi.Output[str]
    """Id, known when the resource runs unless `wait` is False."""
    resource_pools: pulumi.Output[list[dict[str, Any]]]
    """Pools as the service has them."""
    asked_by: pulumi.Output[str | None]
    endpoint: pulumi.Output[str]
    """`emulator` or `google`."""
    project: pulumi.Output[str]
    """Project id."""
    location: pulumi.Output[str]
    """Region."""
    declared: Mapping[str, Any]
    """Declared inputs that jobs on the resource are checked against."""

    @named_arguments
    def __init__(
        self,
        resource_name: str,
        *,
        resource_pools: pulumi.Input[Sequence[pulumi.Input[ResourcePoolArgs | Mapping[str, Any]]]],
        persistent_resource_id: pulumi.Input[str] | None = None,
        display_name: pulumi.Input[str | None] = None,
        labels: pulumi.Input[Mapping[str, pulumi.Input[str]] | None] = None,
        network: pulumi.Input[str | None] = None,
        reserved_ip_ranges: pulumi.Input[Sequence[pulumi.Input[str]] | None] = None,
        psc_interface_config: pulumi.Input[PscInterfaceConfigArgs | Mapping[str, Any] | None] = None,
        encryption_spec: pulumi.Input[EncryptionSpecArgs | Mapping[str, Any] | None] = None,
        resource_runtime_spec: pulumi.Input[ResourceRuntimeSpecArgs | Mapping[str, Any] | None] = None,
        reboot_token: pulumi.Input[str] | None = None,
        allow_unknown_types: bool = False,
        allow_legacy_types: bool = False,
        wait: bool = True,
        wait_timeout: float = DEFAULT_TIMEOUT,
        adopt: bool = False,
        project: pulumi.Input[str] | None = None,
        location: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Declare a persistent resource.

        :param resource_name: Name of the resource in the program.
        :param resource_pools: Pools of equal machines.
        :param persistent_resource_id: Id of the persistent resource. Default: derived from the names of
            program, stack and resource, and kept when one of them changes.
        :param display_name: Name for people, up to 128 characters.
        :param labels: Labels of the persistent resource.
        :param network: Full name of a peered VPC network, projects/PROJECT_NUMBER/global/networks/NETWORK.
            Jobs on the resource must have the same network.
        :param reserved_ip_ranges: Names of reserved IP ranges of the network that the machines may use.
            Default: any range.
        :param psc_interface_config: Private Service Connect interface, through which the machines reach a
            network.
        :param encryption_spec: Customer-managed key that encrypts the machines. Jobs on the resource must
            have the same key.
        :param resource_runtime_spec: Service accounts of the jobs, and the settings of a Ray cluster.
        :param reboot_token: Any string. A change restarts all machines; no job may be using them.
        :param allow_unknown_types: Only warn about machine and accelerator types that this version does not
            know, such as Google's newest.
        :param allow_legacy_types: Accept types that Google has retired, such as NVIDIA_TESLA_K80.
        :param wait: Wait in the deployment until the resource runs; the output `persistent_resource_id` is
            known only then, and a resource that has failed fails each deployment. `ready` always waits.
        :param wait_timeout: Seconds after which the deployment continues with a warning.
        :param adopt: Adopt the existing resource of this name instead of creating one
            (docs/guides/running/adopt.md).
        :param project: Project id. Default: the stack's project.
        :param location: Region. Default: the stack's location.
        :param opts: Pulumi's options of the resource.
        """
        arguments.require(
            resource_name,
            [
                *arguments.unknown(unknown_arguments(self), _ARGUMENTS),
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
            "adopt": adopt or None,
            "reboot_token": reboot_token,
            "allow_unknown_types": allow_unknown_types or None,
            "allow_legacy_types": allow_legacy_types or None,
            "marks": ownership(resource_name),
            **target_inputs(project, location),
        }
        first = pulumi.ResourceOptions(delete_before_replace=True)
        super().__init__(
            "PersistentResource",
            resource_name,
            {
                **with_outputs(inputs, *OUTPUTS, "persistent_resource_id"),
                **key_input(self, "PersistentResource", resource_name, opts),
                **conflict_inputs(resource_name, opts, inputs, "persistent_resource_id", gateway.labels_of),
                **({"wait": wait, "wait_timeout": wait_timeout} if is_constructed() else {}),
            },
            pulumi.ResourceOptions.merge(opts, first),
        )
        cost_limits.count_machines(self, resource_name, inputs, _cost)
        announce_machines(self, resource_name, inputs, _cost)
        checked = ("resource_pools", "network", "encryption_spec", "resource_runtime_spec")
        self.declared = {name: inputs[name] for name in checked if inputs[name] is not None}
        self._timeout = wait_timeout
        self._ready: pulumi.Output[str] | None = None
        self._id = self.persistent_resource_id
        self._in_program: Wait | None = None
        if wait and not pulumi.runtime.is_dry_run() and deploys():
            interruption.listen()
            self._in_program = declared(resource_name)
            # Jobs take this output, and the service refuses them until the resource runs.
            self.persistent_resource_id = self.ready

    @property
    def ready(self) -> pulumi.Output[str]:
        """The id, known when the resource runs, or at once in a preview. Jobs on the resource wait for it."""
        if self._ready is None:
            if pulumi.runtime.is_dry_run() or not deploys():
                self._ready = self._id
            else:
                self._ready = pulumi.Output.all(
                    name=self.id,
                    endpoint=self.endpoint,
                    project=self.project,
                    location=self.location,
                ).apply(self._wait)
        return self._ready

    async def _wait(self, facts: dict[str, Any]) -> Any:
        where = (facts["endpoint"], facts["project"], facts["location"], stack_settings())
        return await readiness.ready(
            self,
            functools.partial(connection.connect, *where),
            facts["name"],
            timeout=self._timeout,
            wait=self._in_program,
        )


def _cost(values: Mapping[str, Any], table: PriceTable) -> Cost | None:
    """Return the cost of the machines, by the inputs."""
    from pulumi_vertex_training.costs.declared import cost_of_decoded

    pools = {"resource_pools": values.get("resource_pools")}
    decoded = decode(spec.PersistentResource, pools).then(spec.normalise, lambda _: ())
    return cost_of_decoded(decoded, region=values.get("location"), table=table)


_ARGUMENTS = [
    name
    for name, parameter in inspect.signature(PersistentResource.__init__).parameters.items()
    if parameter.kind is inspect.Parameter.KEYWORD_ONLY
]


_ID = "persistent_resource_id"


def persistent_resource_inputs(
    job: str,
    resource_id: PersistentResource | pulumi.Input[str] | None,
    resource: PersistentResource | None,
    *,
    at: str = _ID,
) -> dict[str, Any]:
    """Return the inputs of the resource `job` that has a persistent resource, its id, or both.

    `at` is the path of the id. Raises the error of `program.arguments.checks.require` if `resource` is not a
    PersistentResource.
    """
    if resource is not None and not isinstance(resource, PersistentResource):
        what = f"persistent_resource is {arguments.shown(resource)}, but must be a PersistentResource of this"
        arguments.require(job, [f"{what} program. For any other one, set {at} to its id"])
    given = resource_id.ready if isinstance(resource_id, PersistentResource) else resource_id
    resource = resource_id if resource is None and isinstance(resource_id, PersistentResource) else resource
    if resource is None:
        return {_ID: given}
    same = functools.partial(_require_same_id, shown=not isinstance(given, pulumi.Output))
    wanted = resource.ready if given is None else pulumi.Output.all(given, resource.ready).apply(same)
    return {_ID: wanted, "persistent_resource": resource.declared}


def part_with_persistent_resource(
    job: str, part: object, resource: PersistentResource | None, *, at: str
) -> tuple[Any, Mapping[str, Any]]:
    """Return a job spec in `job`, such as a `trial_job_spec`, with the id of its persistent resource.

    The resource is the one of `part` or `job`. The second value is the inputs of `job` that the job spec is
    checked against. `at` is the path of the job spec.
    """
    if part is None or (resource is None and isinstance(part, pulumi.Output)):
        return part, {}
    is_open = isinstance(part, pulumi.Output)
    if not (is_open or has_fields(part)):
        return part, {}  # check reports the wrong type
    given = None if is_open else field_of(part, _ID)
    if given is None and resource is None:
        return part, {}
    inputs = persistent_resource_inputs(job, given, resource, at=f"{at}.{_ID}")
    chosen = inputs.pop(_ID)
    if is_open:
        return pulumi.Output.all(part, chosen).apply(_with_chosen_id), inputs
    return with_fields(part, {_ID: chosen}), inputs


def _with_chosen_id(known: Sequence[Any]) -> Any:
    part, chosen = known
    if not has_fields(part):
        return part
    given = field_of(part, _ID)
    return with_fields(
        part, {_ID: chosen if given is None else _require_same_id([given, chosen], shown=False)}
    )


def _require_same_id(ids: Sequence[str], *, shown: bool) -> str:
    """Return the id if both are equal. The given id is `shown` in the error only if it cannot be a secret."""
    given, of_resource = ids
    if given != of_resource:
        other = repr(given) if shown else "another one"
        raise pulumi.RunError(
            f"persistent_resource_id is {other}, but persistent_resource is {of_resource!r}. Set only "
            "persistent_resource"
        )
    return of_resource
