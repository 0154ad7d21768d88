"""Checks of the access of the replicas' accounts to the buckets of their jobs, by the policies of both."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pulumi_vertex_training.cloud.project import access
from pulumi_vertex_training.cloud.project.access import Bucket, Policy, Project
from pulumi_vertex_training.preflight import policies, remedies
from pulumi_vertex_training.preflight.checks.replicas import POLICY_READER, accounts, default_account
from pulumi_vertex_training.preflight.finding import Finding, Thing
from pulumi_vertex_training.preflight.question import Check, Facts, Question, Trouble
from pulumi_vertex_training.preflight.scope import PROJECT, Scope, member_of_caller, not_known
from pulumi_vertex_training.preflight.subject import Part
from vertex_training.fields import uris
from vertex_training.findings.words import all_of

OBJECT_USER, OBJECT_VIEWER = "roles/storage.objectUser", "roles/storage.objectViewer"
PROJECT_READER = "roles/browser"

POLICY_OF_PROJECT: Question[Policy] = Question(key="policy of project", look=access.policy_of_project)
_READING = ("storage.objects.get", "storage.objects.list")
_WRITING = (*_READING, "storage.objects.create", "storage.objects.delete", "storage.objects.update")
"""The permissions of `OBJECT_USER` on objects. The emulator denies them to every account, or to none."""
_ON_OBJECTS_OF_PROJECT: Question[access.Permissions] = Question(
    key="permissions on the objects of project",
    look=functools.partial(access.on_project, permissions=_WRITING),
)


def checks(scope: Scope) -> Iterator[Check]:
    """Yield a check for each account and bucket."""
    for need in _needs(scope):
        check = _BucketAccess(scope=scope, need=need)
        yield Check(questions=check.questions, judge=check.judge)


def bucket_question(name: str) -> Question[Bucket]:
    """Return the lookup of a bucket."""
    return Question(key=f"bucket:{name}", look=functools.partial(access.bucket, name=name))


@dataclass(frozen=True, kw_only=True)
class _Need:
    """A bucket that replicas write to, or only read. `email` is None for Vertex AI's own account."""

    bucket: str
    writes: bool
    email: str | None
    part: Part
    path: str


def _needs(scope: Scope) -> list[_Need]:
    needs: dict[tuple[str, str | None], _Need] = {}
    for part, email in accounts(scope):
        for bucket, writes, path in buckets_of(part):
            known = needs.get((bucket, email))
            if known is None or (writes and not known.writes):
                needs[bucket, email] = _Need(bucket=bucket, writes=writes, email=email, part=part, path=path)
    return list(needs.values())


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


@dataclass(frozen=True, kw_only=True)
class _BucketAccess:
    """The access of one account to one bucket: its questions, and the findings for their answers."""

    scope: Scope
    need: _Need

    @property
    def questions(self) -> tuple[Question[Any], ...]:
        """Return what has to be looked up."""
        here = self.scope.is_emulator
        more = (self._on_bucket, _ON_OBJECTS_OF_PROJECT) if here else (self._policy_elsewhere,)
        return (bucket_question(self.need.bucket), self._policy, POLICY_OF_PROJECT, PROJECT, *more)

    @property
    def _policy(self) -> Question[Policy]:
        name = self.need.bucket
        look = functools.partial(access.policy_of_bucket, name=name)
        return Question(key=f"policy of bucket:{name}", look=look)

    @property
    def _policy_elsewhere(self) -> Question[Policy]:
        name = self.need.bucket
        look = functools.partial(access.policy_of_project_of_bucket, name=name)
        return Question(key=f"policy of the project of bucket:{name}", look=look)

    @property
    def _on_bucket(self) -> Question[access.Permissions]:
        name = self.need.bucket
        look = functools.partial(access.on_bucket, name=name, permissions=_WRITING)
        return Question(key=f"permissions on bucket:{name}", look=look)

    @property
    def _thing(self) -> Thing:
        need = self.need
        about, resource = f"bucket {need.bucket}", need.part.subject.name
        return Thing(check="replicas", about=about, resource=resource, path=need.path)

    @property
    def _verb(self) -> str:
        return "write to" if self.need.writes else "read"

    def judge(self, facts: Facts) -> Iterator[Finding]:
        """Yield the findings for the answers."""
        bucket, project = facts.of(bucket_question(self.need.bucket)), facts.of(PROJECT)
        if isinstance(bucket, Trouble) and bucket.cause == "missing":
            return  # reported with the buckets
        is_own = self.need.email is None
        if denied := self._denied_by_emulator(facts, self._on_bucket):
            message = f"the emulator denies {all_of(denied)} on it to every account"
            yield self._thing.finding("warning", message, remedy=remedies.ALLOW)
        elif is_own and isinstance(project, Trouble):
            about = f"{self._thing.about}: access of Vertex AI's own account"
            yield not_known(replace(self._thing, about=about), project)
        elif is_own and not isinstance(bucket, Trouble) and not _is_elsewhere(bucket, project):
            message = f"Vertex AI's own account may {self._verb} the buckets of its project"
            yield self._thing.finding("ok", message)
        else:
            number = "" if isinstance(project, Trouble) else project.number
            yield self._by_policies(facts, self.need.email or default_account(number), bucket, project)

    def _by_policies(
        self, facts: Facts, email: str, bucket: Bucket | Trouble, project: Project | Trouble
    ) -> Finding:
        """Return the finding by the policies of the bucket and its project."""
        # The emulator has one policy for all projects: everybody may use the objects of every bucket.
        is_elsewhere = not self.scope.is_emulator and _is_elsewhere(bucket, project)
        of_bucket = facts.of(self._policy)
        of_project = facts.of(self._policy_elsewhere if is_elsewhere else POLICY_OF_PROJECT)
        read = [one for one in (of_bucket, of_project) if not isinstance(one, Trouble)]
        roles = policies.OBJECT_WRITERS if self.need.writes else policies.OBJECT_READERS
        is_own_policy = not is_elsewhere and not isinstance(of_project, Trouble)
        answer = policies.has_role(email, roles, read, project=self.scope.project if is_own_policy else "")
        if answer == "yes":
            return self._thing.finding("ok", f"{email} may {self._verb} it")
        if self.need.part.subject.makes(f"serviceAccount:{email}"):
            return self._thing.finding("ok", f"the deployment grants {email} a role")
        whether = f"whether {email} may {self._verb} it is not known"
        remedy = self._grant(facts, email)
        unread = next((one for one in (of_bucket, of_project) if isinstance(one, Trouble)), None)
        if unread is not None:
            if unread.cause == "denied":
                # The role to read the policy of a project is not enough for a bucket's.
                reader = POLICY_READER if unread is of_bucket else PROJECT_READER
                where = (
                    bucket.project_number
                    if is_elsewhere and isinstance(bucket, Bucket)
                    else self.scope.project
                )
                remedy = remedies.on_project(where, member_of_caller(facts), reader)
            message = f"{whether}: the policies cannot be read: {unread.message}"
            return self._thing.finding("unknown", message, remedy=unread.remedy or remedy)
        if answer == "perhaps":
            why = "by a group, a condition or a custom role, which the policies do not resolve"
            return self._thing.finding("unknown", f"{whether}: {why}", remedy=remedy)
        message = (
            f"neither the bucket nor its project lets {email} {self._verb} it; the job fails, unless a "
            "folder or an organization does"
        )
        return self._thing.finding("warning", message, remedy=remedy)

    def _grant(self, facts: Facts, email: str) -> str:
        """Return the command that gives the account the missing role."""
        # The emulator leaves a role out of a project's first policy if it denies a part of the role there.
        if self._denied_by_emulator(facts, _ON_OBJECTS_OF_PROJECT):
            return remedies.ALLOW
        role = OBJECT_USER if self.need.writes else OBJECT_VIEWER
        return remedies.on_bucket(self.need.bucket, f"serviceAccount:{email}", role)

    def _denied_by_emulator(self, facts: Facts, question: Question[access.Permissions]) -> list[str]:
        needed = _WRITING if self.need.writes else _READING
        granted = facts.of(question) if self.scope.is_emulator else needed
        return [] if isinstance(granted, Trouble) else [name for name in needed if name not in granted]


def _is_elsewhere(bucket: Bucket | Trouble, project: Project | Trouble) -> bool:
    """Return whether a bucket is in another project than the job, as far as that is known."""
    if isinstance(bucket, Trouble) or isinstance(project, Trouble):
        return False
    return bucket.project_number not in ("", project.number)
