"""The parity page's rows of the services about a project: quotas, permissions, services."""

from __future__ import annotations

from support.parity.page import Row, Section

QUOTAS = "tests/vertex_emulator/quotas/test_quota_apis.py"
PERMISSIONS = "tests/vertex_emulator/permissions/test_permissions.py"
POLICIES = "tests/vertex_emulator/permissions/test_account_policies.py"
LISTS = "tests/vertex_emulator/project_services/test_projects.py"
SERVICES = "tests/vertex_emulator/service_usage/test_service_usage.py"
CLIENTS = "tests/clients/projects/test_project_clients.py"
API = "API reference"

PROJECTS = Section(
    title="Quotas, permissions and services of a project",
    rows=(
        Row(
            feature="quotas of Cloud Quotas and of Service Usage",
            google="limits of each metric by region, and requests to change them",
            likeness="like",
            here="the metrics of custom training with the quotas that are set, else -1; changes only by "
            "the emulator's own command",
            source=API,
            tests=(
                f"{QUOTAS}::test_without_a_quota_there_is_no_limit",
                f"{QUOTAS}::test_a_region_with_a_quota_of_its_own",
                f"{QUOTAS}::test_the_older_form",
                f"{QUOTAS}::test_what_there_is_not",
                f"{CLIENTS}::test_quotas",
            ),
        ),
        Row(
            feature="usage of quotas in Cloud Monitoring",
            google="time series of each metric",
            likeness="like",
            here="one point, now, from the jobs that are pending or running; no other metric, no aggregation",
            source=API,
            tests=(
                f"{QUOTAS}::test_the_usage_of_live_jobs",
                f"{QUOTAS}::test_the_past_is_not_recorded",
                f"{QUOTAS}::test_filters_with_functions",
                f"{QUOTAS}::test_filters_that_cannot_be",
                f"{CLIENTS}::test_usage",
            ),
        ),
        Row(
            feature="permissions of a caller (testIamPermissions)",
            google="of a project, a service account, a bucket, a repository",
            likeness="like",
            here="all that are not denied by a setting, which holds for every caller",
            source=API,
            tests=(
                f"{PERMISSIONS}::test_a_project",
                f"{PERMISSIONS}::test_a_service_account",
                f"{PERMISSIONS}::test_a_bucket",
                f"{PERMISSIONS}::test_a_repository",
            ),
        ),
        Row(
            feature="calls without a permission",
            google="403 PERMISSION_DENIED with the permission and the resource",
            likeness="same",
            here="for the permissions that a setting denies; over gRPC without details",
            source=f"errors that users quote; {API}",
            tests=(
                f"{PERMISSIONS}::test_a_call_without_its_permission",
                f"{PERMISSIONS}::test_a_job_of_an_account_that_the_caller_may_not_use",
                f"{PERMISSIONS}::test_replicas_are_denied_as_well",
            ),
        ),
        Row(
            feature="the policy of a project",
            google="grants roles to members",
            likeness="like",
            here="stored, with etags; a default one describes what the emulator allows",
            source=API,
            tests=(f"{PERMISSIONS}::test_the_policy_of_a_project",),
        ),
        Row(
            feature="the policy of a service account",
            google="grants roles to members",
            likeness="like",
            here="stored, with etags; empty at first",
            source=API,
            tests=(
                f"{POLICIES}::test_what_is_set_is_read",
                f"{POLICIES}::test_a_policy_that_has_changed_since_it_was_read",
                f"{POLICIES}::test_a_denial_holds_whatever_the_policy_says",
            ),
        ),
        Row(
            feature="a list of projects",
            google="list (v1), search (v3), list of a folder or an organization",
            likeness="like",
            here="those in which something was created or changed; there are no folders and organizations",
            source=API,
            tests=(
                f"{LISTS}::test_the_projects_in_which_something_was_made",
                f"{LISTS}::test_filters",
                f"{LISTS}::test_there_are_no_folders",
                f"{CLIENTS}::test_projects",
            ),
        ),
        Row(
            feature="service accounts",
            google="create, get, list, patch, delete, enable, disable",
            likeness="like",
            here="no patch; every account with a well-formed address exists until it is deleted",
            source=API,
            tests=(
                f"{POLICIES}::test_accounts_are_listed_once_somebody_has_changed_them",
                f"{PERMISSIONS}::test_accounts_come_and_go",
                f"{PERMISSIONS}::test_accounts_that_do_not_exist",
            ),
        ),
        Row(
            feature="services of a project",
            google="get, list, batchGet, enable, disable, batchEnable; a disabled one answers 403",
            likeness="like",
            here="the same methods; the services of the emulator are enabled, others disabled",
            source=API,
            tests=(
                f"{SERVICES}::test_services_of_the_emulator_are_enabled",
                f"{SERVICES}::test_a_disabled_service_answers_nothing_in_its_project",
                f"{CLIENTS}::test_services",
            ),
        ),
        Row(
            feature="Compute Engine",
            google="reservations, networks, attachments",
            likeness="not",
            here="refused with UNIMPLEMENTED",
            source=API,
            tests=(f"{PERMISSIONS}::test_compute_engine_is_refused_by_name",),
        ),
    ),
)
