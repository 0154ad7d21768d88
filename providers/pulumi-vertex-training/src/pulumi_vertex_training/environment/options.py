"""The settings of an environment's parts, as frozen dataclasses; dictionaries work, too."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from pulumi_vertex_training.program.arguments import checks
from pulumi_vertex_training.program.arguments.references import BucketLike, ServiceAccountLike, WithEmail


@dataclass(frozen=True, kw_only=True)
class NetworkArgs:
    """A VPC network that reaches Google's APIs and the machines of jobs without the internet.

    :param ip_cidr_range: Addresses of the subnetwork in the environment's region.
    :param peering_prefix_length: Size of the range in which Google places the machines of jobs, as the length
        of its prefix; 16 is enough for about 500
        replicas at once.
    """

    ip_cidr_range: pulumi.Input[str] = "10.10.0.0/20"
    peering_prefix_length: pulumi.Input[int] = 16


@dataclass(frozen=True, kw_only=True)
class EncryptionKeyArgs:
    """A key of Cloud KMS that encrypts bucket, repository, jobs, TensorBoard and persistent resource.

    :param rotation_period: Time after which the key gets a new version.
    :param protection_level: `SOFTWARE` or `HSM`.
    """

    rotation_period: pulumi.Input[str] = "7776000s"
    protection_level: pulumi.Input[str] = "SOFTWARE"


@dataclass(frozen=True, kw_only=True)
class LogBucketArgs:
    """A bucket of Cloud Logging that keeps the logs of jobs longer than the project's own.

    :param retention_days: Days for which it keeps them.
    """

    retention_days: pulumi.Input[int] = 90


@dataclass(frozen=True, kw_only=True)
class NotificationChannelsArgs:
    """Channels of Cloud Monitoring, which the budget alerts.

    :param emails: Addresses, each of which becomes a channel.
    :param webhook_url: URL that gets a POST request for each alert. It is a secret if it has a token.
    :param channels: Full names of existing channels, or resources.
    """

    emails: Sequence[pulumi.Input[str]] = ()
    webhook_url: pulumi.Input[str] | None = None
    channels: Sequence[Any] = ()


@dataclass(frozen=True, kw_only=True)
class BudgetArgs:
    """A budget of the project, which alerts the notification channels and stops nothing.

    :param billing_account: Id of the billing account, such as `012345-567890-ABCDEF`.
    :param amount: Whole units of the currency a month.
    :param currency: Currency of the billing account, such as `EUR`. Default: that of the account.
    :param thresholds: Parts of the amount at which an alert is sent.
    :param forecast: Alert also when the forecast for the month reaches the amount.
    """

    billing_account: pulumi.Input[str]
    amount: pulumi.Input[int]
    currency: pulumi.Input[str] | None = None
    thresholds: Sequence[float] = (0.5, 0.9, 1.0)
    forecast: bool = True


@dataclass(frozen=True, kw_only=True)
class WorkloadIdentityArgs:
    """Workload identity federation: workflows of a repository act as deployer or planner, without a key.

    Give one of the two repositories. A workflow that runs in the environment (of GitHub or GitLab) with the
    name of the stack acts as the deployer; in the environment STACK-plan it acts as the planner.

    :param github_repository: Repository of GitHub, such as `my-team/training`.
    :param gitlab_project: Project of GitLab, such as `my-group/training`.
    :param gitlab_url: Address of GitLab.
    :param environment: Name of the environment, if it is not that of the stack.
    """

    github_repository: str | None = None
    gitlab_project: str | None = None
    gitlab_url: str = "https://gitlab.com"
    environment: str | None = None


SETTINGS: Mapping[str, type[Any]] = {
    "network": NetworkArgs,
    "encryption_key": EncryptionKeyArgs,
    "log_bucket": LogBucketArgs,
    "notification_channels": NotificationChannelsArgs,
    "budget": BudgetArgs,
    "workload_identity": WorkloadIdentityArgs,
}
"""The settings of each part that only Google Cloud has."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """The parts of an environment that only Google Cloud has, as a program asks for them.

    Each part is None, its settings if it is to be made, or an existing one.
    """

    services: bool | Sequence[str]
    replica_account: ServiceAccountLike | bool
    deployer_account: ServiceAccountLike | bool
    planner_account: ServiceAccountLike | bool
    scheduler_account: ServiceAccountLike | bool
    grant_roles: bool
    deployers: Sequence[pulumi.Input[str]]
    workload_identity: WorkloadIdentityArgs | None
    state_bucket: BucketLike | None
    network: NetworkArgs | pulumi.Input[str] | None
    encryption_key: EncryptionKeyArgs | pulumi.Input[str] | None
    log_bucket: LogBucketArgs | pulumi.Input[str] | None
    notification_channels: NotificationChannelsArgs | None
    budget: BudgetArgs | None
    tensorboard: pulumi.Input[str] | bool | None

    @property
    def parts(self) -> frozenset[str]:
        """Return the names of the optional parts of the environment."""
        names = (*SETTINGS, "tensorboard", "state_bucket", "scheduler_account")
        return frozenset(name for name in names if getattr(self, name) not in (None, False))


def existing(part: object) -> Any:
    """Return a part that exists already, None for settings, True or nothing."""
    return None if isinstance(part, (bool, *SETTINGS.values())) else part


def requested(name: str, given: object) -> Any:
    """Return a part as `Request` has it: None, settings, or the existing one. `findings` has no finding."""
    settings = SETTINGS[name]
    if given is None or given is False:
        return None
    if given is True or isinstance(given, Mapping):
        return settings(**(given if isinstance(given, Mapping) else {}))
    return given


def findings(name: str, given: object) -> Iterator[str]:
    """Yield what is wrong with a part as a program gives it."""
    settings = SETTINGS[name]
    fields = {one.name: one for one in dataclasses.fields(settings)}
    is_made = given is True or isinstance(given, Mapping)
    names = given if isinstance(given, Mapping) else {}
    for finding in checks.unknown((key for key in names if key not in fields), list(fields)):
        yield f"{name}.{finding}"
    for key, one in fields.items():
        if is_made and one.default is dataclasses.MISSING and names.get(key) is None:
            yield f"{name}.{key} is missing"
    if name in _ONLY_SETTINGS and not isinstance(given, (settings, Mapping, type(None))):
        yield f"{name} is {checks.shown(given)}; give a {settings.__name__} or a dictionary"
    elif not is_made and not isinstance(given, (str, bool, settings, pulumi.Output, type(None))):
        yield (
            f"{name} is {checks.shown(given)}; give True, a {settings.__name__}, a dictionary, or the full "
            "name of an existing one"
        )


def account_findings(**accounts: object) -> Iterator[str]:
    """Yield the accounts that are neither a flag, an address, an output nor a resource."""
    for name, given in accounts.items():
        if not isinstance(given, (bool, str, pulumi.Output, WithEmail)):
            yield f"{name} is {checks.shown(given)}; give True, False, a service account or its address"


def name_findings(name: str, given: object) -> Iterator[str]:
    """Yield a finding for a part without settings that is neither a flag, a name nor an output."""
    if not isinstance(given, (bool, str, pulumi.Output, type(None))):
        yield f"{name} is {checks.shown(given)}; give True or the full name of an existing one"


_ONLY_SETTINGS = ("notification_channels", "budget", "workload_identity")
"""Parts that have no existing form: their settings name what exists."""


def federation_findings(settings: WorkloadIdentityArgs | None) -> Iterator[str]:
    """Yield what is wrong with the repositories of a federation."""
    if settings is None:
        return
    given = [name for name in ("github_repository", "gitlab_project") if getattr(settings, name)]
    if len(given) != 1:
        yield "workload_identity needs either github_repository or gitlab_project"
    for name in given:
        text = str(getattr(settings, name))
        if not re.fullmatch(r"[\w.-]+(/[\w.-]+)+", text):
            yield f"workload_identity.{name} is {text!r}; give OWNER/NAME, such as my-team/training"
