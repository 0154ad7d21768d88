"""Make the parts of an environment on Google Cloud, in the order in which they need each other."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from pulumi_vertex_training.environment import roles
from pulumi_vertex_training.environment.google import accounts, network, operations
from pulumi_vertex_training.environment.google.accounts import Account, Targets
from pulumi_vertex_training.environment.google.scope import Scope
from pulumi_vertex_training.environment.options import (
    EncryptionKeyArgs,
    LogBucketArgs,
    NetworkArgs,
    NotificationChannelsArgs,
    Request,
)
from pulumi_vertex_training.environment.parts import Access, Ground
from pulumi_vertex_training.environment.roles import Who
from pulumi_vertex_training.program.arguments.references import (
    BucketLike,
    RepositoryLike,
    ServiceAccountLike,
    bucket_name,
    repository_url,
)


def lay_ground(scope: Scope, request: Request) -> Ground:
    """Enable the services, and make key and network."""
    enabled = accounts.enable_services(scope, services_of(request))
    scope = scope.after(enabled)
    ready: list[pulumi.Resource] = [*enabled]
    key: pulumi.Input[str] | None = None
    if isinstance(request.encryption_key, EncryptionKeyArgs):
        made = network.make_key(scope, request.encryption_key)
        key, ready = made.name, [*ready, *made.ready]
    elif request.encryption_key is not None:
        key = request.encryption_key
        if request.grant_roles:
            ready += network.allow_encryption(scope, key)
    peered: pulumi.Input[str] | None
    if isinstance(request.network, NetworkArgs):
        part = network.make_network(scope, request.network)
        peered, ready = part.name, [*ready, *part.ready]
    else:
        peered = request.network
    return Ground(network=peered, kms_key_name=key, depends_on=ready)


def services_of(request: Request) -> list[str]:
    """Return the services that are to be enabled, in order and each once."""
    if request.services is False:
        return []
    more = () if isinstance(request.services, bool) else request.services
    of_parts = [
        name for part, names in roles.SERVICES_OF_PARTS.items() if part in request.parts for name in names
    ]
    return list(dict.fromkeys([*roles.SERVICES, *of_parts, *more]))


def give_access(
    scope: Scope, request: Request, ground: Ground, bucket: BucketLike, repository: RepositoryLike
) -> Access:
    """Make accounts with their roles, and all that an environment is watched with."""
    scope = scope.after(ground.depends_on)
    by_role = _accounts(scope, request)
    grants: Sequence[pulumi.CustomResource] = ()
    if request.grant_roles:
        targets = Targets(
            bucket=bucket_name(bucket),
            repository=pulumi.Output.from_input(repository_url(repository)).apply(repository_parts),
            state_bucket=None if request.state_bucket is None else bucket_name(request.state_bucket),
            parts=request.parts,
        )
        grants = accounts.grant_roles(scope, by_role, targets)
    if "deployer" in by_role:
        accounts.allow_deployers(scope, by_role["deployer"], request.deployers)
    provider = (
        None
        if request.workload_identity is None
        else accounts.federate(scope, by_role, request.workload_identity)
    )
    channels = operations.make_channels(scope, request.notification_channels or NotificationChannelsArgs())
    if request.budget is not None:
        operations.make_budget(scope, request.budget, channels)
    return Access(
        replica_account=_after(by_role.get("replicas"), grants),
        deployer_account=_after(by_role.get("deployer"), grants),
        planner_account=_after(by_role.get("planner"), grants),
        scheduler_account=_after(by_role.get("scheduler"), grants),
        tensorboard=operations.make_tensorboard(scope, ground.kms_key_name)
        if request.tensorboard is True
        else request.tensorboard or None,
        workload_identity_provider=provider,
        log_bucket=_log_bucket(scope, request, ground),
        notification_channels=channels,
    )


def _accounts(scope: Scope, request: Request) -> dict[Who, Account]:
    """Make or look up the accounts that are wanted."""
    requested: dict[Who, ServiceAccountLike | bool] = {
        "deployer": request.deployer_account,
        "planner": request.planner_account,
        "scheduler": request.scheduler_account,
        "replicas": request.replica_account,
    }
    return {
        who: accounts.make_account(scope, who) if given is True else accounts.existing_account(given)
        for who, given in requested.items()
        if given is not False
    }


def _log_bucket(scope: Scope, request: Request, ground: Ground) -> pulumi.Input[str] | None:
    if request.log_bucket is None:
        return None
    name: pulumi.Input[str] = (
        operations.make_log_bucket(scope, request.log_bucket, ground.kms_key_name)
        if isinstance(request.log_bucket, LogBucketArgs)
        else request.log_bucket
    )
    operations.route_logs(scope, name)
    return name


def _after(account: Account | None, grants: Sequence[pulumi.CustomResource]) -> pulumi.Output[str] | None:
    """Return an account's address, known once it has its roles: a job that starts earlier would fail."""
    if account is None:
        return None
    return pulumi.Output.all(account.email, *(grant.id for grant in grants)).apply(
        lambda known: str(known[0])
    )


def repository_parts(url: str) -> list[str]:
    """Return location, project and id of a repository by its address, LOCATION-docker.pkg.dev/PROJECT/NAME.

    Raises `pulumi.RunError` for any other address.
    """
    host, _, path = url.partition("/")
    project, _, name = path.rpartition("/")
    location = host.removesuffix("-docker.pkg.dev")
    if location == host or not project or not name:
        raise pulumi.RunError(
            f"the repository {url!r} is not an address of Artifact Registry; give "
            "LOCATION-docker.pkg.dev/PROJECT/NAME"
        )
    return [location, project.replace("/", ":"), name]
