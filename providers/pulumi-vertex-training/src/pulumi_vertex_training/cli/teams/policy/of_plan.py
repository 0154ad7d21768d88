"""The policies in `plan`: each violation by a resource of the preview.

The engine does not print violations in its JSON, so the same rules are applied to the steps of the preview.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pulumi_vertex_training.cli.teams.plan.checks import CheckFinding, CheckResult, PlanContext
from pulumi_vertex_training.cli.teams.plan.jobs import without_texts
from pulumi_vertex_training.cli.teams.plan.plan import name_of, type_of
from pulumi_vertex_training.cli.teams.policy.stack_policies import StackPolicies, policies_of, read
from pulumi_vertex_training.cloud.prices.price_file import current_prices
from pulumi_vertex_training.costs.reports import HIDDEN
from vertex_training.command_line.errors import InputError
from vertex_training.fields.document import json_of
from vertex_training.findings.problems import Problem
from vertex_training.findings.words import all_of
from vertex_training.policy.evaluation import Configuration, Violation, violations
from vertex_training.policy.subject import Subject, kind_of, paths_of, stack_of, subject_of

_PAGE = "See docs/guides/cost/policies.md."


def check(context: PlanContext) -> CheckResult | None:
    """Return the violations of the stack's policies, or None if its configuration names none."""
    try:
        found = policies_of(context.previewed.configuration, context.folder)
        if found is None:
            return None
        if found.is_foreign:
            return CheckResult(
                name="policy", summary=f"The policies of {found.pack} are applied in the deployment"
            )
        configuration = read(found.settings)
    except InputError as error:
        return CheckResult(
            name="policy",
            summary="The policies could not be read",
            findings=(CheckFinding(severity="error", message=str(error)),),
        )
    broken = tuple(_violations(configuration, _subjects(context.previewed.revealed_steps)))
    return CheckResult(
        name="policy",
        summary=_summary(found, configuration, (violation for _, violation in broken)),
        findings=(
            *_about_the_pack(found),
            *(_wrong_setting(found, problem) for problem in configuration.problems),
            *(_finding(*each) for each in broken if not each[1].undecided),
            *_undecided(broken),
        ),
        document={
            "policies": [
                {"name": one.policy.name, "level": one.level, "says": one.policy.says}
                for one in configuration.policies
            ],
            "violations": [_document(subject, violation) for subject, violation in broken],
        },
    )


def _about_the_pack(found: StackPolicies) -> Iterator[CheckFinding]:
    if found.is_missing:
        yield CheckFinding(severity="error", message=found.obstacle)
    elif found.obstacle:
        message = f"`vertex-training apply` would refuse a deployment. {found.obstacle}"
        yield CheckFinding(severity="warning", message=message)


def _wrong_setting(found: StackPolicies, problem: Problem) -> CheckFinding:
    end = "" if problem.message.endswith(("?", ".")) else "."
    return CheckFinding(severity="error", message=f"{found.settings}: {problem}{end}", remedy=_PAGE)


def _subjects(steps: Iterable[Mapping[str, Any]]) -> Iterator[Subject]:
    """Yield the resources that there will be, each once."""
    seen = set()
    for step in steps:
        kind, state = kind_of(type_of(step)), step.get("newState")
        urn = str(step["urn"])
        if kind is None or not state or urn in seen:
            continue
        seen.add(urn)
        inputs = state.get("inputs") or {}
        secret = paths_of(inputs, lambda value: value == HIDDEN)
        subject = subject_of(kind, name_of(step), stack_of(urn), without_texts(inputs), secret=secret)
        if subject is not None:
            yield subject


def _violations(
    configuration: Configuration, subjects: Iterable[Subject]
) -> Iterator[tuple[Subject, Violation]]:
    """Yield each violation with its resource."""
    for subject in subjects:
        for configured in configuration.policies:
            yield from ((subject, violation) for violation in violations(configured, subject, current_prices))


def _finding(subject: Subject, violation: Violation) -> CheckFinding:
    return CheckFinding(
        severity="error" if violation.level == "mandatory" else "warning",
        resource=subject.name,
        type=subject.kind,
        message=f"{violation.path}: {violation.message} (the policy {violation.policy})",
    )


def _undecided(broken: Iterable[tuple[Subject, Violation]]) -> Iterator[CheckFinding]:
    """Yield a finding for each value that is not known, with all policies that depend on it."""
    policies: dict[tuple[str, str, str, bool], dict[str, None]] = {}
    for subject, one in broken:
        if one.undecided:
            value = (subject.name, subject.kind, one.path, one.secret)
            policies.setdefault(value, {})[one.policy] = None
    for (name, kind, path, secret), names in policies.items():
        why = "is a secret, which a plan does not have" if secret else "is not known yet"
        about = f"the policy {all_of(names)} is" if len(names) == 1 else f"the policies {all_of(names)} are"
        message = f"{path} {why}, so {about} decided in the deployment."
        yield CheckFinding(severity="unknown", resource=name, type=kind, message=message)


def _document(subject: Subject, violation: Violation) -> dict[str, Any]:
    return {
        **json_of(violation, "policy level path undecided"),
        "resource": subject.name,
        "type": subject.kind,
        "message": None if violation.undecided else violation.message,
    }


def _summary(found: StackPolicies, configuration: Configuration, broken: Iterable[Violation]) -> str:
    counts = Counter(violation.level for violation in broken if not violation.undecided)
    if found.is_missing and not counts:
        return "The policy pack is missing"
    if configuration.problems and not counts:
        return "The settings of the policies are wrong"
    if not configuration.policies:
        return "All policies are disabled"
    if not counts:
        number = len(configuration.policies)
        return f"No violation of {number} {'policy' if number == 1 else 'policies'}"
    words = [f"{counts[level]} {level}" for level in ("mandatory", "advisory") if counts[level]]
    total = sum(counts.values())
    return f"{' and '.join(words)} violation{'' if total == 1 else 's'} of policies"
