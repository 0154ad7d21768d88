"""Checks of the access of the replicas' accounts to the secrets that variables of their jobs name."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pulumi_vertex_training.cloud.project import access
from pulumi_vertex_training.cloud.project.access import Policy
from pulumi_vertex_training.preflight import policies, remedies
from pulumi_vertex_training.preflight.checks.bucket_access import POLICY_OF_PROJECT
from pulumi_vertex_training.preflight.checks.replicas import POLICY_READER, accounts, default_account
from pulumi_vertex_training.preflight.finding import Finding, Thing
from pulumi_vertex_training.preflight.question import Check, Facts, Question, Trouble
from pulumi_vertex_training.preflight.scope import PROJECT, Scope, member_of_caller, not_known
from pulumi_vertex_training.preflight.subject import Part

ACCESS = "secretmanager.versions.access"
ACCESSOR = "roles/secretmanager.secretAccessor"

_SECRET = re.compile(
    r"(?P<name>projects/[^/\s]+(?:/locations/[a-z0-9-]+)?/secrets/[A-Za-z0-9_-]{1,255})(?:/versions/[^/\s]+)?"
)


def checks(scope: Scope) -> Iterator[Check]:
    """Yield a check for each account and secret."""
    for need in _needs(scope):
        yield _check(scope, need)


@dataclass(frozen=True, kw_only=True)
class _Need:
    """A secret that replicas read. `email` is None for Vertex AI's own account."""

    secret: str
    email: str | None
    part: Part
    path: str


def _needs(scope: Scope) -> list[_Need]:
    needs: dict[tuple[str, str | None], _Need] = {}
    for part, email in accounts(scope):
        for secret, path in secrets_of(part):
            needs.setdefault((secret, email), _Need(secret=secret, email=email, part=part, path=path))
    return list(needs.values())


def secrets_of(part: Part) -> Iterator[tuple[str, str]]:
    """Yield each secret whose full name is the value of a variable of a job, with the path of the value."""
    for path, pool in part.pools:
        task = "container_spec" if pool.container_spec else "python_package_spec"
        for i, variable in enumerate(pool.task.env if pool.task else ()):
            match = _SECRET.fullmatch(variable.value)
            at = f"{path}.{task}.env[{i}].value"
            if match and part.subject.looks_up(at, variable.value):
                yield match["name"], at


def _check(scope: Scope, need: _Need) -> Check:
    policy: Question[Policy] = Question(
        key=f"policy of secret:{need.secret}",
        look=functools.partial(access.policy_of_secret, name=need.secret),
    )
    on_secret: Question[access.Permissions] = Question(
        key=f"permissions on secret:{need.secret}",
        look=functools.partial(access.on_secret, name=need.secret, permissions=[ACCESS]),
    )
    thing = Thing(
        check="replicas", about=f"secret {need.secret}", resource=need.part.subject.name, path=need.path
    )

    def judge(facts: Facts) -> Iterator[Finding]:
        project, of_secret, of_project = facts.of(PROJECT), facts.of(policy), facts.of(POLICY_OF_PROJECT)
        if isinstance(of_secret, Trouble) and of_secret.cause == "missing":
            remedy = remedies.new_secret(need.secret)
            if scope.is_emulator:
                remedy = f"vertex-training emulator secret set {need.secret.rpartition('/')[2]}"
            yield thing.finding("error", "does not exist", remedy=remedy)
            return
        if scope.is_emulator:
            yield _on_emulator(thing, facts.of(on_secret))
            return
        if need.email is None and isinstance(project, Trouble):
            yield not_known(
                replace(thing, about=f"{thing.about}: access of Vertex AI's own account"), project
            )
            return
        number = "" if isinstance(project, Trouble) else project.number
        is_elsewhere = need.secret.split("/")[1] not in (scope.project, number)
        yield _by_policies(
            thing,
            need,
            need.email or default_account(number),
            of_secret=of_secret,
            of_project=None if is_elsewhere else of_project,
            member=member_of_caller(facts),
        )

    emulated = (on_secret,) if scope.is_emulator else ()
    return Check(questions=(policy, POLICY_OF_PROJECT, PROJECT, *emulated), judge=judge)


def _on_emulator(thing: Thing, granted: access.Permissions | Trouble) -> Finding:
    """Return the finding on the emulator, where each account may do what is not denied."""
    if isinstance(granted, Trouble):
        return not_known(thing, granted)
    if ACCESS in granted:
        return thing.finding("ok", "the replicas may read it")
    return thing.finding("warning", f"the emulator denies {ACCESS} on it", remedy=remedies.ALLOW)


def _by_policies(
    thing: Thing,
    need: _Need,
    email: str,
    *,
    of_secret: Policy | Trouble,
    of_project: Policy | Trouble | None,
    member: str,
) -> Finding:
    """Return the finding by the policies of a secret and of its project, None if that is not the job's."""
    read = [one for one in (of_secret, of_project) if not (one is None or isinstance(one, Trouble))]
    answer = policies.has_role(email, policies.SECRET_READERS, read)
    if answer == "yes":
        return thing.finding("ok", f"{email} may read it")
    if need.part.subject.makes(f"serviceAccount:{email}"):
        return thing.finding("ok", f"the deployment grants {email} a role")
    remedy = remedies.on_secret(need.secret, f"serviceAccount:{email}", ACCESSOR)
    whether = f"whether {email} may read it is not known"
    if isinstance(of_secret, Trouble):
        if of_secret.cause == "denied":
            remedy = remedies.on_project(need.secret.split("/")[1], member, POLICY_READER)
        message = f"{whether}: its policy cannot be read: {of_secret.message}"
        return thing.finding("unknown", message, remedy=of_secret.remedy or remedy)
    if answer == "perhaps" or len(read) < 2:
        why = "the policies that can be read do not tell; a group, a custom role or its project may let it"
        return thing.finding("unknown", f"{whether}: {why}", remedy=remedy)
    message = (
        f"neither its policy nor its project's lets {email} read it; the program fails, unless a folder or "
        "an organization does"
    )
    return thing.finding("warning", message, remedy=remedy)
