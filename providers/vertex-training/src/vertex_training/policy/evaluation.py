"""Configured policies, and their violations by a resource.

The configuration has the form of Pulumi's policy packs: `{"all": LEVEL, POLICY: LEVEL}`, or for one policy
`{POLICY: {"enforcementLevel": LEVEL, SETTING: VALUE}}`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeGuard, get_args

from vertex_training.fields.decode import decode
from vertex_training.fields.schema import as_written, camel_case, child
from vertex_training.findings.problems import Problem, known
from vertex_training.findings.words import nearest, one_of, shown
from vertex_training.policy import settings
from vertex_training.policy.policies import POLICIES, Policy, Prices, matches
from vertex_training.policy.settings import Scope
from vertex_training.policy.subject import Subject

Level = Literal["advisory", "mandatory", "disabled"]
LEVELS: tuple[Level, ...] = get_args(Level)
DEFAULT_LEVEL: Level = "advisory"

_LEVEL_KEY = "enforcementLevel"
_ALL = "all"
_ENVIRONMENTS = "environments"
_NOT_POLICIES = (_ALL, _ENVIRONMENTS)
"""Keys of a configuration that name no policy; the engine reads them."""
_ABSENT = object()


@dataclass(frozen=True, kw_only=True)
class Configured:
    """A policy with its level and settings."""

    policy: Policy
    level: Level
    settings: Scope


@dataclass(frozen=True, kw_only=True)
class Violation:
    """A violation of a policy by a resource.

    `undecided` means that it rests on a value that is not known yet: the deployment decides it. `secret`
    means that its path leads to a secret.
    """

    policy: str
    level: Level
    resource: str
    path: str
    message: str
    undecided: bool = False
    secret: bool = False

    def __str__(self) -> str:
        return f"{self.resource}: {self.path}: {self.message}"


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """All policies that are not disabled, and the problems of the configuration that they were read from."""

    policies: tuple[Configured, ...]
    problems: tuple[Problem, ...] = ()


def configuration_of(document: object) -> Configuration:
    """Read a configuration; a policy that it does not name is advisory, with default settings."""
    if not isinstance(document, Mapping):
        return Configuration(
            policies=(), problems=(Problem(path="", message="expected an object with a key for each policy"),)
        )
    problems: list[Problem] = [*_unknown_names(document), *_ignored(document)]
    everywhere = _level(_level_in(document.get(_ALL, {})), _ALL, problems) or DEFAULT_LEVEL
    configured: list[Configured] = []
    for name, policy in POLICIES.items():
        given = document.get(name, {})
        if isinstance(given, str):
            level, values = _level(given, name, problems), {}
        elif isinstance(given, Mapping):
            level = _level(_level_in(given), f"{name}.{_LEVEL_KEY}", problems)
            values = {key: value for key, value in given.items() if key != _LEVEL_KEY}
        else:
            problems.append(Problem(path=name, message=f"expected an object, or one of {one_of(LEVELS)}"))
            continue
        chosen, wrong = settings_of(policy, values)
        problems.extend(wrong)
        if chosen is not None and (level or everywhere) != "disabled":
            configured.append(Configured(policy=policy, level=level or everywhere, settings=chosen))
    return Configuration(policies=tuple(configured), problems=tuple(problems))


def settings_of(policy: Policy, values: Mapping[str, Any]) -> tuple[Scope | None, tuple[Problem, ...]]:
    """Return the settings of a policy, or None beside the problems of the values.

    Paths of problems have the names of the file: `hourly-cost.unknownPrices`.
    """
    name = policy.name
    decoded = decode(policy.settings, values, path=name)
    wrong = (
        tuple(settings.problems_with(decoded.spec, name)) if decoded.spec is not None else decoded.problems
    )
    written = {
        f"{name}.{field.name}": f"{name}.{camel_case(field.name)}"
        for field in dataclasses.fields(policy.settings)
    }
    return None if wrong else decoded.spec, as_written(wrong, written)


def violations(configured: Configured, subject: Subject, prices: Prices) -> Iterator[Violation]:
    """Yield the violations of a policy by a resource, whose cost is that by `prices`."""
    scope = configured.settings
    if not matches(subject.stack, scope.stacks) or matches(subject.name, scope.exempt):
        return
    problems = tuple(configured.policy.check(subject, scope, prices))
    decided = set(map(id, known(problems, subject.unknown)))
    for problem in problems:
        yield Violation(
            policy=configured.policy.name,
            level=configured.level,
            resource=subject.name,
            path=problem.path,
            message=problem.message,
            undecided=id(problem) not in decided,
            secret=subject.is_secret(problem.path),
        )


def _unknown_names(document: Mapping[str, Any]) -> Iterator[Problem]:
    for name in document:
        if name not in POLICIES and name not in _NOT_POLICIES:
            hint = nearest(name, POLICIES) or f"the policies are {', '.join(POLICIES)}"
            yield Problem(path=name, message=f"is not the name of a policy; {hint}")


def _ignored(document: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the keys below `all` that the engine ignores, and a list of environments that it rejects."""
    everywhere = document.get(_ALL)
    for name in everywhere if isinstance(everywhere, Mapping) else ():
        if name != _LEVEL_KEY:
            yield Problem(
                path=child(_ALL, name),
                message=f"only {_LEVEL_KEY} can be set for all policies. Set {name} for each policy",
            )
    names = document.get(_ENVIRONMENTS, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        yield Problem(path=_ENVIRONMENTS, message="expected a list of strings")


def _level_in(value: object) -> object:
    return value.get(_LEVEL_KEY, _ABSENT) if isinstance(value, Mapping) else value


def _level(value: object, path: str, problems: list[Problem]) -> Level | None:
    """Return a level, or None for an absent one; report anything else."""
    if value is _ABSENT:
        return None
    if _is_level(value):
        return value
    given = shown(value) if isinstance(value, str) else "null" if value is None else "the value"
    problems.append(Problem(path=path, message=f"{given} is not one of {one_of(LEVELS)}"))
    return None


def _is_level(value: object) -> TypeGuard[Level]:
    return value in LEVELS
