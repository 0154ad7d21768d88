"""Checks of the caller: credentials, project, enabled services, permissions on the project."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

from pulumi_vertex_training.cloud.project import access, services
from pulumi_vertex_training.preflight import remedies
from pulumi_vertex_training.preflight.finding import Finding, Thing
from pulumi_vertex_training.preflight.question import Check, Facts, Question, Trouble
from pulumi_vertex_training.preflight.scope import CALLER, PROJECT, Scope, member_of_caller, not_known

SERVICES = ("aiplatform.googleapis.com", "storage.googleapis.com", "logging.googleapis.com")
"""Services that every job needs."""
SERVICE_OF_IMAGES = "artifactregistry.googleapis.com"
SERVICE_OF_NETWORKS = "compute.googleapis.com"

USER, LOG_VIEWER = "roles/aiplatform.user", "roles/logging.viewer"
SERVICE_VIEWER = "roles/serviceusage.serviceUsageViewer"

_OF_JOBS = ("create", "get", "list", "cancel", "delete")
_READING = (".get", ".list")
_LOGS = "logging.logEntries.list"
_REGISTRY = "-docker.pkg.dev/"


def checks(scope: Scope) -> Iterator[Check]:
    """Yield the checks of the caller."""
    yield Check(questions=(CALLER,), judge=functools.partial(_credentials, scope))
    yield Check(questions=(PROJECT, permissions_question(scope)), judge=functools.partial(_project, scope))
    yield _services(scope)
    if _wanted(scope):
        yield _permissions(scope)


def _credentials(scope: Scope, facts: Facts) -> Iterator[Finding]:
    caller = facts.of(CALLER)
    if isinstance(caller, Trouble):
        return  # nothing else was looked up then, see `findings_of`
    if scope.is_emulator:
        whose = "the emulator's token"
    else:
        whose = caller.email or "Application Default Credentials of a person"
    yield Thing(check="credentials", about="credentials").finding("ok", whose)


def _project(scope: Scope, facts: Facts) -> Iterator[Finding]:
    project, thing = facts.of(PROJECT), Thing(check="project", about=f"project {scope.project}")
    if isinstance(project, Trouble):
        if project.cause == "missing":
            yield thing.finding("error", "does not exist", remedy="gcloud projects list")
        elif project.cause == "denied" and isinstance(facts.of(permissions_question(scope)), Trouble):
            # Google denies access to a project that does not exist, too.
            message = f"does not exist, or the account has no role in it: {project.message}"
            yield thing.finding("unknown", message, remedy="gcloud projects list")
        else:
            remedy = remedies.on_project(scope.project, member_of_caller(facts), "roles/browser")
            yield not_known(thing, project, remedy=remedy)
    elif project.state != "ACTIVE":
        yield thing.finding(
            "error",
            f"is in state {project.state or 'unknown'}",
            remedy=f"gcloud projects undelete {scope.project}",
        )
    else:
        yield thing.finding("ok", f"active, number {project.number}")


def _services(scope: Scope) -> Check:
    names = [*SERVICES]
    if any(_REGISTRY in image for part in scope.parts for _, pool in part.pools for _, image in pool.images):
        names.append(SERVICE_OF_IMAGES)
    if any(part.spec.network or part.spec.psc_interface_config for part in scope.parts):
        names.append(SERVICE_OF_NETWORKS)
    question: Question[Mapping[str, bool]] = Question(
        key=f"services:{','.join(names)}", look=functools.partial(services.enabled, names=names)
    )

    def judge(facts: Facts) -> Iterator[Finding]:
        answer = facts.of(question)
        if isinstance(answer, Trouble):
            remedy = remedies.on_project(scope.project, member_of_caller(facts), SERVICE_VIEWER)
            yield not_known(Thing(check="services", about="enabled services"), answer, remedy=remedy)
            return
        # A service that the deployment enables is on before the job is submitted.
        disabled = [name for name in names if answer.get(name) is False and not scope.makes(name)]
        unsure = [name for name in names if name not in answer]
        for name in disabled:
            yield Thing(check="services", about=name).finding(
                "error",
                f"is not enabled in project {scope.project}",
                remedy=remedies.enable(name, scope.project),
            )
        for name in unsure:
            yield Thing(check="services", about=name).finding(
                "unknown", "Service Usage does not report it", remedy=remedies.enable(name, scope.project)
            )
        if not disabled and not unsure:
            count = sum(answer[name] for name in names)
            enabled = f", {len(names) - count} enabled by the deployment" if count < len(names) else ""
            yield Thing(check="services", about="services").finding("ok", f"{count} enabled{enabled}")

    return Check(questions=(question,), judge=judge)


def _permissions(scope: Scope) -> Check:
    question, wanted = permissions_question(scope), _wanted(scope)

    def judge(facts: Facts) -> Iterator[Finding]:
        answer = facts.of(question)
        thing = Thing(check="permissions", about=f"permissions on project {scope.project}")
        if isinstance(answer, Trouble):
            yield not_known(thing, answer)
            return
        if plans_only(scope, facts):
            message = (
                "the account only reads jobs, as one that plans; what the deployer may do was not looked up"
            )
            yield thing.finding("ok", message)
            return
        member = member_of_caller(facts)
        missing = [name for name in wanted if name not in answer]
        if missing:
            yield thing.finding(
                "error",
                f"the deployer lacks {', '.join(missing)}",
                remedy=remedies.on_project(scope.project, member, USER),
            )
        if _LOGS not in answer:
            yield thing.finding(
                "warning",
                f"the deployer lacks {_LOGS}: the log of a job that failed cannot be reported",
                remedy=remedies.on_project(scope.project, member, LOG_VIEWER),
            )
        if not missing and _LOGS in answer:
            message = f"the deployer has all {len(wanted) + 1}"
            yield thing.finding("ok", message)

    return Check(questions=(question,), judge=judge)


def permissions_question(scope: Scope) -> Question[access.Permissions]:
    """Return the lookup of the caller's permissions on the project."""
    wanted = [*_wanted(scope), _LOGS]
    return Question(
        key=f"permissions:{','.join(wanted)}", look=functools.partial(access.on_project, permissions=wanted)
    )


def plans_only(scope: Scope, facts: Facts) -> bool:
    """Return whether a preview is made by an account that reads jobs and may change none."""
    answer = facts.of(permissions_question(scope))
    if not scope.is_preview or isinstance(answer, Trouble):
        return False
    reading = {name for name in _wanted(scope) if name.endswith(_READING)}
    return answer & set(_wanted(scope)) == reading


def _wanted(scope: Scope) -> list[str]:
    collections = sorted({one.collection for one in scope.subjects if not one.is_scheduled})
    return [f"aiplatform.{collection}.{verb}" for collection in collections for verb in _OF_JOBS]
