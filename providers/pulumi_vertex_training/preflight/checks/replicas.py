"""Checks of the account that the replicas run as: whether it can be used, and reaches buckets and images."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pulumi_vertex_training.cloud.project import access
from pulumi_vertex_training.cloud.project.access import Bucket, Policy
from pulumi_vertex_training.preflight import policies, remedies
from pulumi_vertex_training.preflight.checks.deployer import permissions_question, plans_only
from pulumi_vertex_training.preflight.finding import Finding, Thing
from pulumi_vertex_training.preflight.question import Check, Facts, Question, Trouble
from pulumi_vertex_training.preflight.scope import PROJECT, Scope, member_of_caller, not_known
from pulumi_vertex_training.preflight.subject import Part
from vertex_training.fields import uris
from vertex_training.findings.words import all_of

ACT_AS = "iam.serviceAccounts.actAs"
ACCOUNT_USER = "roles/iam.serviceAccountUser"
OBJECT_USER, OBJECT_VIEWER = "roles/storage.objectUser", "roles/storage.objectViewer"
IMAGE_READER = "roles/artifactregistry.reader"
PROJECT_READER, POLICY_READER = "roles/browser", "roles/iam.securityReviewer"

POLICY_OF_PROJECT: Question[Policy] = Question(key="policy of project", look=access.policy_of_project)

_READING = ("storage.objects.get", "storage.objects.list")
_WRITING = (*_READING, "storage.objects.create", "storage.objects.delete", "storage.objects.update")
"""The permissions of `OBJECT_USER` on objects. The emulator denies them to every account, or to none."""

_REPOSITORY = re.compile(
    r"(?P<location>[a-z0-9-]+)-docker\.pkg\.dev/(?P<project>[a-z][a-z0-9.:-]*)/(?P<repository>[a-z0-9-]+)/.+"
)
_OF_GOOGLE = frozenset({"vertex-ai", "vertex-ai-restricted", "deeplearning-platform-release"})


def checks(scope: Scope) -> Iterator[Check]:
    """Yield the checks of the replicas' accounts."""
    yield from (_account(scope, email, part) for email, part in _accounts(scope).items())
    yield from (_bucket(scope, need) for need in _needs(scope))
    yield from (_repository(name, part) for name, part in _foreign_repositories(scope).items())


def bucket_question(name: str) -> Question[Bucket]:
    """Return the lookup of a bucket."""
    return Question(key=f"bucket:{name}", look=functools.partial(access.bucket, name=name))


def _accounts(scope: Scope) -> dict[str, Part]:
    found: dict[str, Part] = {}
    # Of several jobs with one account, one that the deployer submits.
    for part in sorted(scope.parts, key=lambda part: part.subject.is_scheduled):
        email = part.spec.service_account
        if email and part.subject.looks_up(part.at("service_account"), email):
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
    """Return the command for an account that does not exist. Google makes those of its own services."""
    name, _, domain = email.partition("@")
    project = access.project_of_account(email)
    if not project:
        return f"gcloud iam service-accounts list --filter=email:{shlex.quote(domain)}"
    return f"gcloud iam service-accounts create {shlex.quote(name)} --project={shlex.quote(project)}"


@dataclass(frozen=True, kw_only=True)
class _Need:
    """A bucket that replicas write to, or only read. `email` is None for Vertex AI's own account."""

    bucket: str
    writes: bool
    email: str | None
    part: Part
    path: str


def _needs(scope: Scope) -> list[_Need]:
    found: dict[tuple[str, str | None], _Need] = {}
    for part in scope.parts:
        email = part.spec.service_account or None
        if not part.subject.looks_up(part.at("service_account"), email or ""):
            continue
        for bucket, writes, path in buckets_of(part):
            known = found.get((bucket, email))
            if known is None or (writes and not known.writes):
                found[bucket, email] = _Need(bucket=bucket, writes=writes, email=email, part=part, path=path)
    return list(found.values())


def buckets_of(part: Part) -> Iterator[tuple[str, bool, str]]:
    """Yield each bucket that a job writes to (true) or only reads, with the path that names it."""
    subject = part.subject
    directory, path = part.spec.base_output_directory, part.at("base_output_directory")
    staging = subject.staging_bucket
    address = uris.parse_or_none(directory or "")
    if directory and address and subject.looks_up(path, directory):
        yield address.bucket, True, path
    elif not directory and staging and subject.looks_up("staging_bucket", staging):
        yield staging.removeprefix("gs://").partition("/")[0], True, "staging_bucket"
    for pool_path, pool in part.pools:
        package = pool.python_package_spec
        for index, uri in enumerate(package.package_uris if package else ()):
            at = f"{pool_path}.python_package_spec.package_uris[{index}]"
            address = uris.parse_or_none(uri)
            if address and subject.looks_up(at, uri) and not subject.makes(address.bucket):
                yield address.bucket, False, at


def _bucket(scope: Scope, need: _Need) -> Check:
    bucket = bucket_question(need.bucket)
    policy: Question[Policy] = Question(
        key=f"policy of bucket:{need.bucket}",
        look=functools.partial(access.policy_of_bucket, name=need.bucket),
    )
    policy_elsewhere: Question[Policy] = Question(
        key=f"policy of the project of bucket:{need.bucket}",
        look=functools.partial(access.policy_of_project_of_bucket, name=need.bucket),
    )
    thing = Thing(
        check="replicas", about=f"bucket {need.bucket}", resource=need.part.subject.name, path=need.path
    )
    verb, roles, role, permissions = (
        ("write to", policies.OBJECT_WRITERS, OBJECT_USER, _WRITING)
        if need.writes
        else ("read", policies.OBJECT_READERS, OBJECT_VIEWER, _READING)
    )
    on_bucket: Question[access.Permissions] = Question(
        key=f"permissions on bucket:{need.bucket}",
        look=functools.partial(access.on_bucket, name=need.bucket, permissions=_WRITING),
    )
    on_project: Question[access.Permissions] = Question(
        key="permissions on the objects of project",
        look=functools.partial(access.on_project, permissions=_WRITING),
    )

    def denied_by_emulator(facts: Facts, question: Question[access.Permissions]) -> list[str]:
        granted = facts.of(question) if scope.is_emulator else permissions
        return [] if isinstance(granted, Trouble) else [name for name in permissions if name not in granted]

    def judge(facts: Facts) -> Iterator[Finding]:
        found, project = facts.of(bucket), facts.of(PROJECT)
        if isinstance(found, Trouble) and found.cause == "missing":
            return  # reported with the buckets
        if denied := denied_by_emulator(facts, on_bucket):
            message = f"the emulator denies {all_of(denied)} on it to every account"
            yield thing.finding("warning", message, remedy=remedies.ALLOW)
            return
        if need.email is None and isinstance(project, Trouble):
            about = f"{thing.about}: access of Vertex AI's own account"
            yield not_known(replace(thing, about=about), project)
            return
        # The emulator has one policy for all projects: everybody may use the objects of every bucket.
        is_elsewhere = not scope.is_emulator and _is_elsewhere(found, project)
        if need.email is None and not isinstance(found, Trouble) and not _is_elsewhere(found, project):
            yield thing.finding("ok", f"Vertex AI's own account may {verb} the buckets of its project")
            return
        email = need.email or default_account("" if isinstance(project, Trouble) else project.number)
        member = f"serviceAccount:{email}"
        of_project = facts.of(policy_elsewhere if is_elsewhere else POLICY_OF_PROJECT)
        asked = (facts.of(policy), of_project)
        read = [one for one in asked if not isinstance(one, Trouble)]
        has_project = not is_elsewhere and not isinstance(of_project, Trouble)
        answer = policies.has_role(email, roles, read, project=scope.project if has_project else "")
        unread = next((one for one in asked if isinstance(one, Trouble)), None)
        # The emulator leaves a role out of a project's first policy if it denies a part of the role there.
        is_left_out = bool(denied_by_emulator(facts, on_project))
        remedy = remedies.ALLOW if is_left_out else remedies.on_bucket(need.bucket, member, role)
        if answer == "yes":
            yield thing.finding("ok", f"{email} may {verb} it")
        elif need.part.subject.makes(member):
            yield thing.finding("ok", f"the deployment grants {email} a role")
        elif answer == "perhaps" or unread is not None:
            why = (
                "by a group, a condition or a custom role, which the policies do not resolve"
                if unread is None
                else f"the policies cannot be read: {unread.message}"
            )
            message = f"whether {email} may {verb} it is not known: {why}"
            if unread is not None and unread.cause == "denied":
                # The role to read the policy of a project is not enough for that of a bucket.
                reader = PROJECT_READER if unread is of_project else POLICY_READER
                where = found.project_number if is_elsewhere and isinstance(found, Bucket) else scope.project
                remedy = remedies.on_project(where, member_of_caller(facts), reader)
            yield thing.finding("unknown", message, remedy=(unread and unread.remedy) or remedy)
        else:
            message = (
                f"neither the bucket nor its project lets {email} {verb} it; the job fails, unless a folder "
                "or an organization does"
            )
            yield thing.finding("warning", message, remedy=remedy)

    more = (on_bucket, on_project) if scope.is_emulator else (policy_elsewhere,)
    return Check(questions=(bucket, policy, POLICY_OF_PROJECT, PROJECT, *more), judge=judge)


def _is_elsewhere(bucket: Bucket | Trouble, project: access.Project | Trouble) -> bool:
    """Return whether a bucket is in another project than the job, as far as that is known."""
    if isinstance(bucket, Trouble) or isinstance(project, Trouble):
        return False
    return bucket.project_number not in ("", project.number)


def default_account(number: str) -> str:
    """Return Vertex AI's Custom Code Service Agent.

    Jobs without an account run as it, and the images of all jobs are pulled as it ("Troubleshoot", image).
    """
    return f"service-{number}@gcp-sa-aiplatform-cc.iam.gserviceaccount.com"


def _foreign_repositories(scope: Scope) -> dict[str, tuple[Part, str]]:
    """Return the repositories of other projects, with the first image in each."""
    found: dict[str, tuple[Part, str]] = {}
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
                    found.setdefault(full, (part, f"{path}.{name}"))
    return found


def _repository(name: str, first: tuple[Part, str]) -> Check:
    policy: Question[Policy] = Question(
        key=f"policy of repository:{name}",
        look=functools.partial(access.policy_of_repository, name=name),
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
