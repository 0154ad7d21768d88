"""Ask everything that a preflight has to know, at the same time, and judge the answers."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.preflight import remedies
from pulumi_vertex_training.preflight.checks import (
    bucket_access,
    capacity,
    deployer,
    inputs,
    network,
    replicas,
    secrets,
)
from pulumi_vertex_training.preflight.finding import CHECKS, Finding, Thing
from pulumi_vertex_training.preflight.question import Check, Facts, Question, Trouble, answered
from pulumi_vertex_training.preflight.scope import CALLER, PROJECT, Scope, not_known
from pulumi_vertex_training.runs.lookups import Lookups
from vertex_emulator import machine_clock

_RETRIED = 0.4
"""The part of that time in which a call is tried again: its reason is known before the time is over."""


def all_checks(scope: Scope) -> Iterator[Check]:
    """Yield every check of the jobs of a place."""
    for module in (deployer, replicas, secrets, bucket_access, capacity, inputs, network):
        yield from module.checks(scope)


def findings_of(
    scope: Scope,
    connect: Callable[[], Endpoint | None],
    lookups: Lookups,
    *,
    seconds: float,
    checks: Callable[[Scope], Iterable[Check]] = all_checks,
) -> tuple[Finding, ...]:
    """Return the findings about the jobs of a place, in the order of `CHECKS`.

    `connect` returns the endpoint, or None if nothing answers there. A lookup without an answer in time is
    an unknown finding. Without credentials there is one finding alone.
    """
    deadline = machine_clock.monotonic() + seconds
    planned = list(checks(scope))
    questions = {question.key: question for check in planned for question in check.questions}
    place = ("preflight", scope.is_emulator, scope.project, scope.location)

    def hasty() -> Endpoint | None:
        endpoint = connect()
        if endpoint is None:
            return None
        retried = dataclasses.replace(
            endpoint.timeouts, retry_emulator=seconds * _RETRIED, retry_google=seconds * _RETRIED
        )
        return dataclasses.replace(endpoint, timeouts=retried)

    def look_up(some: Mapping[str, Question[Any]]) -> dict[str, object]:
        looks = {key: functools.partial(answered, question) for key, question in some.items()}
        return lookups.ask(place, hasty, looks, seconds=deadline - machine_clock.monotonic())

    def placed(finding: Finding) -> Finding:
        if not scope.is_emulator:
            return finding
        return dataclasses.replace(finding, remedy=remedies.on_emulator(finding.remedy, scope.data_dir))

    # First, because every other lookup waits for the credentials, and without any says nothing else.
    questions.pop(CALLER.key, None)
    answers = look_up({CALLER.key: CALLER})
    caller = Facts(answers).of(CALLER)
    if isinstance(caller, Trouble):
        return (placed(_refused(caller)),)
    answers |= look_up(questions)
    facts = Facts(answers)
    project = facts.of(PROJECT)
    if isinstance(project, Trouble) and project.cause == "unauthenticated":
        return (placed(_refused(project)),)
    findings = (placed(finding) for check in planned for finding in check.judge(facts))
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: CHECKS.index(finding.check)))


def _refused(trouble: Trouble) -> Finding:
    if trouble.cause != "unauthenticated":
        return not_known(Thing(check="credentials", about="credentials"), trouble)
    return Thing(check="credentials", about="credentials").finding(
        "error", trouble.message, remedy=remedies.LOGIN
    )
