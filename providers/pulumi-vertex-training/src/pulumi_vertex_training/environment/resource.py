"""`TrainingEnvironment`: services, accounts, bucket, repository and more, once for a stage such as dev."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pulumi

from pulumi_vertex_training.environment import options
from pulumi_vertex_training.environment.google.scope import Scope, require_pulumi_gcp
from pulumi_vertex_training.environment.options import (
    BudgetArgs,
    EncryptionKeyArgs,
    LogBucketArgs,
    NetworkArgs,
    NotificationChannelsArgs,
    Request,
    WorkloadIdentityArgs,
)
from pulumi_vertex_training.environment.parts import Ground, existing_access, existing_ground, left_out
from pulumi_vertex_training.environment.values import OPTIONAL, REQUIRED, EnvironmentValues
from pulumi_vertex_training.kinds.image_repository.resource import ImageRepository
from pulumi_vertex_training.kinds.persistent_resource.resource import PersistentResource
from pulumi_vertex_training.kinds.staging_bucket.resource import StagingBucket
from pulumi_vertex_training.program import messages
from pulumi_vertex_training.program.arguments import checks
from pulumi_vertex_training.program.arguments.named_arguments import named_arguments, unknown_arguments
from pulumi_vertex_training.program.arguments.references import (
    BucketLike,
    RepositoryLike,
    ServiceAccountLike,
    bucket_name,
    repository_url,
)
from pulumi_vertex_training.program.form import component_outputs
from pulumi_vertex_training.program.resource import location as stack_location
from pulumi_vertex_training.program.resource import on_google
from pulumi_vertex_training.program.resource import project as stack_project
from vertex_training.findings.words import all_of


class TrainingEnvironment(pulumi.ComponentResource, EnvironmentValues):
    """Accounts, roles, bucket, repository and more, once for all trainings of a stage such as dev.

    Each part is made with defaults for True, with settings for a dictionary or its class, and taken as it is
    for an existing resource or its name; None or False leaves an optional part out. On the emulator, the
    bucket, the repository and the persistent resource are made; one line lists what is left out.
    """

    @named_arguments
    def __init__(
        self,
        resource_name: str,
        *,
        services: bool | Sequence[str] = True,
        bucket: BucketLike | Mapping[str, Any] | None = None,
        repository: RepositoryLike | Mapping[str, Any] | None = None,
        replica_account: ServiceAccountLike | bool = True,
        deployer_account: ServiceAccountLike | bool = True,
        planner_account: ServiceAccountLike | bool | None = None,
        scheduler_account: ServiceAccountLike | bool = False,
        grant_roles: bool = True,
        deployers: Sequence[pulumi.Input[str]] = (),
        workload_identity: WorkloadIdentityArgs | Mapping[str, Any] | None = None,
        state_bucket: BucketLike | None = None,
        network: NetworkArgs | Mapping[str, Any] | pulumi.Input[str] | bool | None = None,
        encryption_key: EncryptionKeyArgs | Mapping[str, Any] | pulumi.Input[str] | bool | None = None,
        log_bucket: LogBucketArgs | Mapping[str, Any] | pulumi.Input[str] | bool | None = None,
        notification_channels: NotificationChannelsArgs | Mapping[str, Any] | None = None,
        budget: BudgetArgs | Mapping[str, Any] | None = None,
        persistent_resource: PersistentResource | Mapping[str, Any] | pulumi.Input[str] | None = None,
        tensorboard: pulumi.Input[str] | bool | None = None,
        project: pulumi.Input[str] | None = None,
        location: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Declare an environment.

        :param resource_name: Name of the resource in the program.
        :param services: Enable the services of Google Cloud that the parts need, and those in a list besides.
            They stay enabled when the environment is destroyed. False enables none.
        :param bucket: Arguments of a `StagingBucket`, or an existing bucket. Default: a bucket named after
            project, program and stack.
        :param repository: Arguments of an `ImageRepository`, or an existing one. Default: a repository named
            after program and stack.
        :param replica_account: Service account that jobs run as.
        :param deployer_account: Service account that deploys trainings.
        :param planner_account: Existing service account that only reads, for plans of pull requests. True
            makes one. Default: one is made for `workload_identity`.
        :param scheduler_account: Service account that schedules submit jobs as.
        :param grant_roles: Grant the accounts the roles in docs/guides/teams/environments.md, also if they
            exist already.
        :param deployers: Who may act as the deployer's account, such as `group:ml@example.com`.
        :param workload_identity: Repository of GitHub or GitLab whose workflows act as deployer or planner,
            without a key.
        :param state_bucket: Existing bucket with Pulumi's states, which the deployer may then write.
        :param network: Existing network, projects/PROJECT_NUMBER/global/networks/NETWORK, or True or settings
            for one with private access.
        :param encryption_key: Existing key of Cloud KMS by its full name, or True or settings for one. It
            encrypts the parts that are made here, and is in `job_options()`.
        :param log_bucket: Existing bucket of Cloud Logging by its full name, or True or settings for one that
            keeps the logs of jobs.
        :param notification_channels: Notification channels: e-mail addresses, a webhook, and existing
            channels.
        :param budget: Monthly budget of the project, which alerts the channels.
        :param persistent_resource: Arguments of a `PersistentResource`, or an existing one or its id.
        :param tensorboard: True for a TensorBoard, or the full name of an existing one.
        :param project: Project id. Default: the stack's project.
        :param location: Region. Default: the stack's location.
        :param opts: Pulumi's options of the resource.
        """
        given = {
            "network": network,
            "encryption_key": encryption_key,
            "log_bucket": log_bucket,
            "notification_channels": notification_channels,
            "budget": budget,
            "workload_identity": workload_identity,
        }
        checks.require(
            resource_name,
            [
                *checks.unknown(unknown_arguments(self), _ARGUMENTS),
                *(line for name, part in given.items() for line in options.findings(name, part)),
                checks.flag("grant_roles", grant_roles),
                *options.account_findings(
                    replica_account=replica_account,
                    deployer_account=deployer_account,
                    planner_account=False if planner_account is None else planner_account,
                    scheduler_account=scheduler_account,
                ),
                *_dictionary_findings("bucket", bucket, StagingBucket),
                *_dictionary_findings("repository", repository, ImageRepository),
                *_dictionary_findings("persistent_resource", persistent_resource, PersistentResource),
                *options.name_findings("tensorboard", tensorboard),
            ],
        )
        request = Request(
            services=services,
            replica_account=replica_account,
            deployer_account=deployer_account,
            planner_account=workload_identity is not None if planner_account is None else planner_account,
            scheduler_account=scheduler_account,
            grant_roles=grant_roles,
            deployers=deployers,
            state_bucket=state_bucket,
            tensorboard=tensorboard,
            **{name: options.requested(name, part) for name, part in given.items()},
        )
        checks.require(resource_name, [*_findings(request)])
        super().__init__("vertex-training:index:TrainingEnvironment", resource_name, None, opts)
        is_google = on_google()
        place: dict[str, pulumi.Input[str]] = {
            "project": stack_project() if project is None else project,
            "location": stack_location() if location is None else location,
        }
        scope = Scope(name=resource_name, parent=self, project=place["project"], location=place["location"])
        if is_google:
            require_pulumi_gcp(resource_name)
            from pulumi_vertex_training.environment.google import provision  # imported only if needed

            ground = provision.lay_ground(scope, request)
        else:
            ground = existing_ground(request)
        own = scope.after(ground.depends_on).opts
        # On the emulator nothing is encrypted, and a key that a program names may not exist.
        key = ground.kms_key_name if is_google else None
        self._bucket = (
            StagingBucket(
                resource_name,
                **{
                    **place,
                    **({} if key is None else {"encryption": {"default_kms_key_name": key}}),
                    **(bucket or {}),
                },
                opts=own,
            )
            if bucket is None or isinstance(bucket, Mapping)
            else bucket
        )
        self._repository = (
            ImageRepository(
                resource_name,
                **{**place, **({} if key is None else {"kms_key_name": key}), **(repository or {})},
                opts=own,
            )
            if repository is None or isinstance(repository, Mapping)
            else repository
        )
        access = (
            provision.give_access(scope, request, ground, self._bucket, self._repository)
            if is_google
            else existing_access(request)
        )
        machines = (
            PersistentResource(
                resource_name,
                **{**place, **_machine_settings(ground, key, access.replica_account), **persistent_resource},
                opts=own,
            )
            if isinstance(persistent_resource, Mapping)
            else persistent_resource
        )
        values: dict[str, Any] = {
            "endpoint": "google" if is_google else "emulator",
            **place,
            "bucket": bucket_name(self._bucket),
            "repository": repository_url(self._repository),
            "network": ground.network,
            "kms_key_name": ground.kms_key_name,
            "persistent_resource_id": machines.persistent_resource_id
            if isinstance(machines, PersistentResource)
            else machines,
            **vars(access),
        }
        for name in (*REQUIRED, *OPTIONAL):
            setattr(self, name, pulumi.Output.from_input(values[name]))
        if not is_google:
            self._report(request)
        outputs = {name: getattr(self, name) for name in (*REQUIRED, *OPTIONAL)}
        self.register_outputs(component_outputs(outputs))

    def _report(self, request: Request) -> None:
        """Print, in one line, what an environment on the emulator lacks."""
        missing = [*left_out(request)]
        if missing:
            messages.info(
                f"made without {all_of(missing)}, which the emulator does not have",
                self,
            )


def _findings(request: Request) -> Iterator[str]:
    """Yield what is wrong with parts that need each other."""
    yield from options.federation_findings(request.workload_identity)
    if isinstance(request.deployers, str):
        yield f'deployers is {request.deployers!r}; give a list, such as ["group:ml@example.com"]'
        return
    for member in request.deployers:
        if isinstance(member, str) and not _MEMBER.fullmatch(member):
            yield (
                f"deployers has {member!r}; give a principal, such as user:ada@example.com or "
                "group:ml@example.com"
            )
    if request.deployer_account is False:
        for name in ("deployers", "workload_identity", "state_bucket"):
            if getattr(request, name):
                yield f"{name} is given, but deployer_account is False; leave one of them out"


def _dictionary_findings(name: str, given: object, kind: type[Any]) -> Iterator[str]:
    """Yield the unknown names in the arguments of a part that is to be created."""
    if isinstance(given, Mapping):
        parameters = inspect.signature(kind.__init__).parameters.values()
        known = [each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY]
        for finding in checks.unknown((key for key in given if key not in known), known):
            yield f"{name}.{finding}"


def _machine_settings(
    ground: Ground, key: pulumi.Input[str] | None, account: pulumi.Input[str] | None
) -> dict[str, Any]:
    """Return the settings of a persistent resource that jobs of the environment need it to have."""
    settings: dict[str, Any] = {} if ground.network is None else {"network": ground.network}
    if key is not None:
        settings["encryption_spec"] = {"kms_key_name": key}
    if account is not None:
        settings["resource_runtime_spec"] = {"service_account_spec": {"enable_custom_service_account": True}}
    return settings


_MEMBER = re.compile(r"(user|group|serviceAccount|domain|principal|principalSet):\S+")
_ARGUMENTS = [
    name
    for name, parameter in inspect.signature(TrainingEnvironment.__init__).parameters.items()
    if parameter.kind is inspect.Parameter.KEYWORD_ONLY
]
