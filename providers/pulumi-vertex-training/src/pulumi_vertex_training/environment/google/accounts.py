"""Services of the project, the accounts of deployer and replicas, their roles, and who may deploy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pulumi

from pulumi_vertex_training.environment import roles
from pulumi_vertex_training.environment.google.scope import Scope
from pulumi_vertex_training.environment.options import WorkloadIdentityArgs
from pulumi_vertex_training.environment.roles import Role, Who
from pulumi_vertex_training.program.arguments.references import ServiceAccountLike, service_account_email

_TITLES: Mapping[Who, str] = {
    "deployer": "Deploys trainings with Pulumi",
    "scheduler": "Submits the jobs of schedules",
    "planner": "Plans trainings, and reads only",
    "replicas": "Runs the replicas of training jobs",
}
_SUFFIXES: Mapping[Who, str] = {
    "deployer": "deployer",
    "planner": "planner",
    "scheduler": "scheduler",
    "replicas": "replica",
}


@dataclass(frozen=True, kw_only=True)
class Account:
    """A service account: its address, and its full name for grants on it."""

    email: pulumi.Output[str]
    name: pulumi.Output[str]

    @property
    def member(self) -> pulumi.Output[str]:
        return pulumi.Output.concat("serviceAccount:", self.email)


@dataclass(frozen=True, kw_only=True)
class Targets:
    """Resources that the roles are granted on. `repository` is location, project and id."""

    bucket: pulumi.Input[str]
    repository: pulumi.Output[Sequence[str]]
    state_bucket: pulumi.Input[str] | None
    parts: frozenset[str]


def enable_services(scope: Scope, names: Sequence[str]) -> list[pulumi.Resource]:
    """Enable services. They stay enabled when the environment is destroyed: others may use them."""
    from pulumi_gcp import projects

    return [
        projects.Service(
            f"{scope.name}-{name.partition('.')[0]}",
            project=scope.project,
            service=name,
            disable_on_destroy=False,
            opts=pulumi.ResourceOptions(parent=scope.parent),
        )
        for name in names
    ]


def make_account(scope: Scope, who: Who) -> Account:
    """Make an account."""
    from pulumi_gcp import serviceaccount

    account = serviceaccount.Account(
        f"{scope.name}-{_SUFFIXES[who]}",
        project=scope.project,
        account_id=scope.identifier(_SUFFIXES[who]),
        display_name=_TITLES[who],
        opts=scope.opts,
    )
    return Account(email=account.email, name=account.name)


def existing_account(account: ServiceAccountLike) -> Account:
    """Return an account that exists already, by its address or resource."""
    email = pulumi.Output.from_input(service_account_email(account)).apply(str)
    return Account(email=email, name=pulumi.Output.concat("projects/-/serviceAccounts/", email))


def grant_roles(
    scope: Scope, accounts: Mapping[Who, Account], targets: Targets
) -> list[pulumi.CustomResource]:
    """Grant the roles of `roles.ROLES` to the accounts."""
    return [
        grant
        for role in roles.ROLES
        if role.who in accounts and (not role.needs or role.needs in targets.parts)
        for grant in _grant(scope, role, accounts, targets)
    ]


def _grant(
    scope: Scope, role: Role, accounts: Mapping[Who, Account], targets: Targets
) -> Iterator[pulumi.CustomResource]:
    from pulumi_gcp import artifactregistry, projects, serviceaccount, storage

    name = f"{scope.name}-{_SUFFIXES[role.who]}-{role.short}"
    member = accounts[role.who].member
    match role.scope:
        case "project":
            yield projects.IAMMember(
                name, project=scope.project, role=role.role, member=member, opts=scope.opts
            )
        case "bucket":
            yield storage.BucketIAMMember(
                name, bucket=targets.bucket, role=role.role, member=member, opts=scope.opts
            )
        case "state bucket":
            if targets.state_bucket is not None:
                yield storage.BucketIAMMember(
                    f"{name}-state",
                    bucket=targets.state_bucket,
                    role=role.role,
                    member=member,
                    opts=scope.opts,
                )
        case "repository":
            yield artifactregistry.RepositoryIamMember(
                name,
                location=targets.repository.apply(lambda parts: parts[0]),
                project=targets.repository.apply(lambda parts: parts[1]),
                repository=targets.repository.apply(lambda parts: parts[2]),
                role=role.role,
                member=member,
                opts=scope.opts,
            )
        case "replica account" | "scheduler account":
            on: Who = "replicas" if role.scope == "replica account" else "scheduler"
            if on in accounts:
                yield serviceaccount.IAMMember(
                    name if on == "replicas" else f"{name}-scheduler",
                    service_account_id=accounts[on].name,
                    role=role.role,
                    member=member,
                    opts=scope.opts,
                )


def allow_deployers(scope: Scope, deployer: Account, members: Sequence[pulumi.Input[str]]) -> None:
    """Let people and groups act as the deployer's account."""
    from pulumi_gcp import serviceaccount

    for position, member in enumerate(members):
        label = member if isinstance(member, str) else str(position)
        serviceaccount.IAMMember(
            f"{scope.name}-deployer-{label}",
            service_account_id=deployer.name,
            role=roles.IMPERSONATION,
            member=member,
            opts=scope.opts,
        )


def federate(
    scope: Scope, found: Mapping[Who, Account], settings: WorkloadIdentityArgs
) -> pulumi.Output[str]:
    """Let the workflows of a repository act as deployer or planner. Return the full name of the provider.

    An account is bound to an environment of GitHub or GitLab, because its rules decide who may deploy; a
    workflow without an environment gets nothing.
    """
    from pulumi_gcp import iam, serviceaccount

    pool = iam.WorkloadIdentityPool(
        f"{scope.name}-pool",
        project=scope.project,
        workload_identity_pool_id=scope.identifier("ci", longest=32),
        display_name="Continuous integration",
        description=f"Deploys trainings from {settings.github_repository or settings.gitlab_project or ''}",
        opts=scope.opts,
    )
    provider = _identity_provider(scope, pool.workload_identity_pool_id, settings)
    environment = settings.environment or pulumi.get_stack()
    environments: Mapping[Who, str] = {"deployer": environment, "planner": f"{environment}-plan"}
    for who, name in environments.items():
        if who in found:
            serviceaccount.IAMMember(
                f"{scope.name}-{_SUFFIXES[who]}-federation",
                service_account_id=found[who].name,
                role=roles.FEDERATION,
                member=pulumi.Output.concat(
                    "principalSet://iam.googleapis.com/", pool.name, f"/attribute.environment/{name}"
                ),
                opts=scope.opts,
            )
    return provider


def _identity_provider(
    scope: Scope, pool_id: pulumi.Output[str], settings: WorkloadIdentityArgs
) -> pulumi.Output[str]:
    """Trust the tokens of the workflows of one repository. Return the full name of the provider."""
    from pulumi_gcp import iam

    is_github = settings.github_repository is not None
    repository = settings.github_repository or settings.gitlab_project or ""
    claim = "repository" if is_github else "project_path"
    return iam.WorkloadIdentityPoolProvider(
        f"{scope.name}-provider",
        project=scope.project,
        workload_identity_pool_id=pool_id,
        workload_identity_pool_provider_id="github" if is_github else "gitlab",
        attribute_mapping={
            "google.subject": "assertion.sub",
            "attribute.repository": f"assertion.{claim}",
            "attribute.environment": "assertion.environment",
        },
        attribute_condition=f'assertion.{claim} == "{repository}"',
        oidc=iam.WorkloadIdentityPoolProviderOidcArgs(
            issuer_uri="https://token.actions.githubusercontent.com" if is_github else settings.gitlab_url
        ),
        opts=scope.opts,
    ).name


def service_agents(scope: Scope) -> dict[str, pulumi.Output[str]]:
    """Return the members of Google's own accounts that encrypt for Vertex AI, images and buckets."""
    from pulumi_gcp import projects, storage

    identities = {
        short: projects.ServiceIdentity(
            f"{scope.name}-{short}-agent",
            project=scope.project,
            service=f"{short}.googleapis.com",
            opts=scope.opts,
        ).member
        for short in ("aiplatform", "artifactregistry")
    }
    bucket_agent = storage.get_project_service_account_output(
        project=pulumi.Output.from_input(scope.project),
        opts=pulumi.InvokeOutputOptions(parent=scope.parent, depends_on=list(scope.depends_on)),
    )
    return {**identities, "storage": bucket_agent.member}
