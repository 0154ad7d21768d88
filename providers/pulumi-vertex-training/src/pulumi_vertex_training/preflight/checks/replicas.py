"""Checks of the accounts that replicas run as, and of Vertex AI's access to the images of other projects."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace

from pulumi_vertex_training.cloud.project import access
from pulumi_vertex_training.cloud.project.access import Policy
from pulumi_vertex_training.preflight import policies, remedies
from pulumi_vertex_training.preflight.checks.deployer import permissions_question, plans_only
from pulumi_vertex_training.preflight.finding import Finding, Thing
from pulumi_vertex_training.preflight.question import Check, Facts, Question, Trouble
from pulumi_vertex_training.preflight.scope import PROJECT, Scope, member_of_caller, not_known
from pulumi_vertex_training.preflight.subject import Part

ACT_AS = "iam.serviceAccounts.actAs"
ACCOUNT_USER = "roles/iam.serviceAccountUser"
IMAGE_READER = "roles/artifactregistry.reader"
POLICY_READER = "roles/iam.securityReviewer"

_REPOSITORY = re.compile(
    r"(?P<location>[a-z0-9-]+)-docker\.pkg\.dev/(?P<project>[a-z][a-z0-9.:-]*)/(?P<repository>[a-z0-9-]+)/.+"
)
_OF_GOOGLE = frozenset({"vertex-ai", "vertex-ai-restricted", "deeplearning-platform-release"})


def checks(scope: Scope) -> Iterator[Check]:
    """Yield the checks of the replicas' accounts and of foreign repositories."""
    yield from (_account(scope, email, part) for email, part in _named_accounts(scope).items())
    yield from (_repository(name, part) for name, part in _foreign_repositories(scope).items())


def accounts(scope: Scope) -> Iterator[tuple[Part, str | None]]:
    """Yield each job with the account that its replicas run as, None for Vertex AI's own account."""
    for part in scope.parts:
        email = part.spec.service_account or None
        if part.subject.looks_up(part.at("service_account"), email or ""):
            yield part, email


def _named_accounts(scope: Scope) -> dict[str, Part]:
    found: dict[str, Part] = {}
    # Of several jobs with one account, one that the deployer submits.
    for part, email in sorted(accounts(scope), key=lambda each: each[0].subject.is_scheduled):
        if email:
            found.setdefault(email, part)
    return found


def _account(scope: Scope, email: str, part: Part) -> Check:
    disabled: Question[bool] = Question(
        key=f"account:{email}", look=functools.partial(access.account_is_disabled, email=email)
    )
    act_as: Question[access.Permissions] = Question(
        key=f"actAs:{email}", look=functools.partial(access.on_account, email=email, permissions=[ACT_AS])
    )
    account = Thing(
        check="replicas",
        about=f"service account {email}",
        resource=part.subject.name,
        path=part.at("service_account"),
    )
    use = replace(account, check="permissions")

    def judge(facts: Facts) -> Iterator[Finding]:
        is_disabled, allowed = facts.of(disabled), facts.of(act_as)
        if isinstance(is_disabled, Trouble) and is_disabled.cause == "missing":
            yield account.finding("error", "does not exist", remedy=_new_account(email))
            return
        if isinstance(is_disabled, Trouble):
            remedy = remedies.on_account(email, member_of_caller(facts), ACCOUNT_USER)
            about = f"{account.about}: whether it is enabled"
            yield not_known(replace(account, about=about), is_disabled, remedy=remedy)
        elif is_disabled:
            remedy = f"gcloud iam service-accounts enable {shlex.quote(email)}"
            yield account.finding("error", "is disabled", remedy=remedy)
        if part.subject.is_scheduled:
            if is_disabled is False:
                yield account.finding("ok", "is enabled")
            return
        member = member_of_caller(facts)
        if isinstance(allowed, Trouble):
            remedy = remedies.on_account(email, member, ACCOUNT_USER)
            yield not_known(replace(use, about=f"{ACT_AS} on {email}"), allowed, remedy=remedy)
        elif ACT_AS in allowed:
            yield use.finding("ok", "the deployer may run jobs as this account")
        elif not plans_only(scope, facts):
            remedy = remedies.on_account(email, member, ACCOUNT_USER)
            message = f"the deployer lacks {ACT_AS} on it, so it cannot run jobs as this account"
            yield use.finding("error", message, remedy=remedy)

    return Check(questions=(disabled, act_as, permissions_question(scope)), judge=judge)


def _new_account(email: str) -> str:
    """Return the command for an account that does not exist. Google makes its own services' accounts."""
    name, _, domain = email.partition("@")
    project = access.project_of_account(email)
    if not project:
        return f"gcloud iam service-accounts list --filter=email:{shlex.quote(domain)}"
    return f"gcloud iam service-accounts create {shlex.quote(name)} --project={shlex.quote(project)}"


def default_account(number: str) -> str:
    """Return Vertex AI's Custom Code Service Agent.

    Jobs without an account run as it, and the images of all jobs are pulled as it ("Troubleshoot", image).
    """
    return f"service-{number}@gcp-sa-aiplatform-cc.iam.gserviceaccount.com"


def _foreign_repositories(scope: Scope) -> dict[str, tuple[Part, str]]:
    """Return the repositories of other projects, with the first image in each."""
    repositories: dict[str, tuple[Part, str]] = {}
    for part in scope.parts:
        for path, pool in part.pools:
            for name, image in pool.images:
                match = _REPOSITORY.fullmatch(image)
                if match is None or match["project"] in (*_OF_GOOGLE, scope.project):
                    continue
                if part.subject.looks_up(f"{path}.{name}", image):
                    full = (
                        f"projects/{match['project']}/locations/{match['location']}"
                        f"/repositories/{match['repository']}"
                    )
                    repositories.setdefault(full, (part, f"{path}.{name}"))
    return repositories


def _repository(name: str, first: tuple[Part, str]) -> Check:
    policy: Question[Policy] = Question(
        key=f"policy of repository:{name}", look=functools.partial(access.policy_of_repository, name=name)
    )
    part, path = first
    thing = Thing(check="replicas", about=f"repository {name}", resource=part.subject.name, path=path)

    def judge(facts: Facts) -> Iterator[Finding]:
        project, found = facts.of(PROJECT), facts.of(policy)
        about = f"{thing.about}: access of Vertex AI"
        if isinstance(found, Trouble):
            if found.cause != "missing":  # else its images are reported
                yield not_known(replace(thing, about=about), found, remedy=_policy_reader(name, facts))
            return
        if isinstance(project, Trouble):
            yield not_known(replace(thing, about=about), project)
            return
        email = default_account(project.number)
        answer = policies.has_role(email, policies.IMAGE_READERS, [found])
        if answer == "yes":
            yield thing.finding("ok", f"{email}, which pulls the images of jobs, may read it")
            return
        if part.subject.makes(f"serviceAccount:{email}"):
            yield thing.finding("ok", f"the deployment grants {email}, which pulls images, a role")
            return
        message = (
            f"it is in another project, and its policy does not let {email} read it, which pulls the images "
            "of jobs; the policy of its project may"
        )
        yield thing.finding(
            "unknown" if answer == "perhaps" else "warning",
            message,
            remedy=remedies.on_repository(name, f"serviceAccount:{email}", IMAGE_READER),
        )

    return Check(questions=(policy, PROJECT), judge=judge)


def _policy_reader(repository: str, facts: Facts) -> str:
    """Return the command that lets the caller read the policy of a repository, by its full name."""
    return remedies.on_project(repository.split("/")[1], member_of_caller(facts), POLICY_READER)
