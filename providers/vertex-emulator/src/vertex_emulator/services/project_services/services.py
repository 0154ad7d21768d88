"""The services about a project itself: its services, quotas, usage, permissions, policy, accounts, secrets.

What a user or a test sets in them is recorded in the data folder. By default every service of the emulator is
enabled, every permission is granted, and nothing is limited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.server.http.messages import Route
from vertex_emulator.server.permissions import admin as denial_admin
from vertex_emulator.server.permissions.denials import Denials, account
from vertex_emulator.server.permissions.gate import Gate
from vertex_emulator.server.permissions.policies import ProjectPolicies
from vertex_emulator.server.permissions.service_accounts import ServiceAccounts
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc import methods as rpc
from vertex_emulator.server.rpc.methods import Binding
from vertex_emulator.services.project_services import compute, resource_manager
from vertex_emulator.services.project_services.projects import Projects
from vertex_emulator.services.quotas import admin as quota_admin
from vertex_emulator.services.quotas.cloud_quotas import CloudQuotas
from vertex_emulator.services.quotas.consumer_quotas import ConsumerQuotas
from vertex_emulator.services.quotas.limits import Quotas
from vertex_emulator.services.quotas.time_series import QuotaSeries
from vertex_emulator.services.secret_manager.service import SecretManager
from vertex_emulator.services.service_usage import service as service_usage
from vertex_emulator.services.service_usage.states import ServiceStates

_ACT_AS = "iam.serviceAccounts.actAs"

SERVICES = (
    descriptors.PROJECTS,
    descriptors.IAM,
    descriptors.SERVICE_USAGE,
    descriptors.SERVICE_USAGE_BETA,
    descriptors.CLOUD_QUOTAS,
    descriptors.MONITORING,
    descriptors.SECRET_MANAGER,
)


class ProjectServices:
    """The services of all projects."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        denials: Denials,
        quotas: Quotas,
    ) -> None:
        self._denials = denials
        self._quotas = quotas
        self._clock = clock
        self._states = ServiceStates(database)
        self._policies = ProjectPolicies(database, denials)
        self._accounts = ServiceAccounts(database, denials)
        self._projects = Projects(database=database, grants=denials, accounts=self._accounts.projects)
        self._secrets = SecretManager(database, clock, denials)
        self.gate = Gate(denials=denials, services=self._states)

    def bindings(self) -> Mapping[str, Binding]:
        """Return the implemented methods of `SERVICES` by full name."""
        return {
            **resource_manager.bindings(self._policies, self._projects),
            **self._accounts.bindings(),
            **service_usage.ServiceUsage(self._states).bindings(),
            **ConsumerQuotas(self._quotas).bindings(),
            **CloudQuotas(self._quotas).bindings(),
            **self._secrets.bindings(),
            **QuotaSeries(self._quotas, self._clock).bindings(),
        }

    def routes(self) -> Sequence[Route]:
        """Return the routes of the services."""
        return [
            *resource_manager.first_version(self._policies, self._projects),
            *compute.routes(),
            *rpc.routes(SERVICES, self.bindings()),
        ]

    def may_act_as(self, email: str) -> bool:
        """Return whether the caller may run jobs as a service account, which must exist."""
        return self._accounts.exists(email) and not self._denials.denies(_ACT_AS, account(email))

    def controls(self) -> Sequence[Route]:
        """Return the emulator's own calls. Those about quotas belong to the custom jobs."""
        return [
            *denial_admin.denial_routes(self._denials),
            *service_usage.service_routes(self._states),
        ]

    def info(self) -> Mapping[str, Any]:
        """Return the settings, for GET /_local/info."""
        return {
            "quotas": quota_admin.views(self._quotas),
            "denials": denial_admin.views(self._denials),
            "serviceStates": service_usage.views(self._states),
        }

    def clear(self) -> None:
        """Remove all settings except for the quotas, which go with the jobs."""
        self._denials.remove()
        self._states.clear()
        self._policies.clear()
        self._accounts.clear()
        self._secrets.clear()
