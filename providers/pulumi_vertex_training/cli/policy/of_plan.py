"""The policies in `plan`: each violation by a resource of the preview.

The engine does not print violations in its JSON, so the same rules are applied to the steps of the preview.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pulumi_vertex_training.cli.plan.checks import CheckFinding, CheckResult, PlanContext, Severity
from pulumi_vertex_training.cli.plan.jobs import ENGINES_UNKNOWN, HIDDEN
from pulumi_vertex_training.cli.plan.plan import name_of, type_of
from pulumi_vertex_training.cli.policy.stack_policies import policies_of, read
from pulumi_vertex_training.views.failure import InputError
from vertex_training.fields.values import UNKNOWN
from vertex_training.policy.evaluation import Configuration, Violation, violations
from vertex_training.policy.subject import Subject, kind_of, stack_of, subject_of

_PAGE = "See docs/guides/cost/policies.md."


def check(context: PlanContext) -> CheckResult | None:
    """Return the violations of the stack's policies, or None if its configuration names none."""
    found = policies_of(context.previewed.configuration, context.folder)
    if found is None:
        return None
    try:
        configuration = read(found.settings)
    except InputError as error:
        return CheckResult(
            name="policy",
            summary="The policies could not be read",
            findings=(CheckFinding(severity="error", message=str(error)),),
        )
    broken = tuple(_violations(configuration, _subjects(context.previewed.steps)))
    wrong = tuple(
        CheckFinding(severity="error", message=f"{found.settings}: {problem}", remedy=_PAGE)
        for problem in configuration.problems
    )
    return CheckResult(
        name="policy",
        summary=_summary(configuration, (violation for _, violation in broken)),
        findings=(*wrong, *(_finding(subject, violation) for subject, violation in broken)),
        document={
            "policies": [
                {"name": one.policy.name, "level": one.level, "says": one.policy.says}
                for one in configuration.policies
            ],
            "violations": [_document(subject, violation) for subject, violation in broken],
        },
    )


def _subjects(steps: Iterable[Mapping[str, Any]]) -> Iterator[Subject]:
    """Yield the resources that there will be, each once."""
    seen = set()
    for step in steps:
        kind, state = kind_of(type_of(step)), step.get("newState")
        urn = str(step["urn"])
        if kind is None or not state or urn in seen:
            continue
        seen.add(urn)
        subject = subject_of(kind, name_of(step), stack_of(urn), _plain(state.get("inputs") or {}))
        if subject is not None:
            yield subject


def _plain(value: Any) -> Any:
    """Return inputs without the engine's texts for unknown and secret values: both cannot be judged."""
    if value in (ENGINES_UNKNOWN, HIDDEN):
        return UNKNOWN
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _violations(
    configuration: Configuration, subjects: Iterable[Subject]
) -> Iterator[tuple[Subject, Violation]]:
    """Yield each violation with its resource."""
    for subject in subjects:
        for configured in configuration.policies:
            yield from ((subject, violation) for violation in violations(configured, subject))


def _severity(violation: Violation) -> Severity:
    if violation.undecided:
        return "unknown"
    return "error" if violation.level == "mandatory" else "warning"


def _finding(subject: Subject, violation: Violation) -> CheckFinding:
    about = f"the policy {violation.policy}"
    message = (
        f"{violation.path} is not known yet, so {about} is decided in the deployment."
        if violation.undecided
        else f"{violation.path}: {violation.message} ({about})"
    )
    return CheckFinding(
        severity=_severity(violation), resource=subject.name, type=subject.kind, message=message
    )


def _document(subject: Subject, violation: Violation) -> dict[str, Any]:
    return {
        "policy": violation.policy,
        "level": violation.level,
        "resource": subject.name,
        "type": subject.kind,
        "path": violation.path,
        "message": None if violation.undecided else violation.message,
        "undecided": violation.undecided,
    }


def _summary(configuration: Configuration, broken: Iterable[Violation]) -> str:
    counts = Counter(violation.level for violation in broken if not violation.undecided)
    if not counts:
        return f"No violation of {len(configuration.policies)} policies"
    words = [f"{counts[level]} {level}" for level in ("mandatory", "advisory") if counts[level]]
    total = sum(counts.values())
    return f"{' and '.join(words)} violation{'' if total == 1 else 's'} of policies"
