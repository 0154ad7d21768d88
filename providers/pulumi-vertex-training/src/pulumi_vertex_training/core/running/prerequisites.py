"""Look up what a job needs before it is submitted, for the preview of a new job and before a rerun."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pulumi_vertex_training.core.call import Call
from pulumi_vertex_training.core.connection import endpoint_for_lookups
from pulumi_vertex_training.core.engine import print_line
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.provider import Failure
from pulumi_vertex_training.core.running.declaration import JobResourceType
from pulumi_vertex_training.core.running.job_cache import job_cache_of
from pulumi_vertex_training.core.running.ladder import rungs_of
from pulumi_vertex_training.core.settings import Settings, Target, target_of
from pulumi_vertex_training.core.state.hidden_input import LOOKUPS, reveal
from pulumi_vertex_training.runs.lookups import Lookups
from pulumi_vertex_training.runs.policies.run_status import LIVE, LookupResult, last_run
from vertex_training.findings.problems import Problem, errors
from vertex_training.job.ladder import on_rung

if TYPE_CHECKING:
    from pulumi_vertex_training.preflight.subject import Subject


@dataclass(frozen=True, kw_only=True)
class Prerequisites:
    """The problems of a job, and the job as the preflight looked at it at `target`, None if it did not."""

    problems: tuple[Problem, ...] = ()
    subject: Subject | None = None
    target: Target | None = None


def prerequisites_of(
    declared: JobResourceType,
    name: str,
    values: Mapping[str, Any],
    *,
    passed_over: Collection[str],
    lookups: Lookups,
    settings: Settings,
    is_preview: bool,
    made: Collection[str] = (),
    replaces: str = "",
) -> Prerequisites:
    """Look up why a job could not be submitted, by what the service answers in time.

    `values` are its inputs, with markers for values that are not known yet. `passed_over` are the paths of
    values that are not looked up. `is_preview` is false while a deployment runs. `made` are the names of what
    the program declares. `replaces` is the identity of its runs, whose live one ends for it, "" for none.
    """
    from pulumi_vertex_training.runs import prerequisites  # imported only if needed

    decoded = declared.read_inputs({"display_name": name, "marks": {"resource": name}, **values})
    inputs, place = decoded.draft, target_of(values)
    if inputs is None or place is None:
        return Prerequisites()
    chooses_directory = declared.spec.output_directory(inputs) is None
    unknown = decoded.unknown | decoded.damaged
    spec = declared.spec_of(inputs)
    staging_bucket = inputs.staging_bucket if chooses_directory else None
    needs = prerequisites.needs_of(spec, staging_bucket=staging_bucket, passed_over={*passed_over, *unknown})

    answers = prerequisites.answers_of(
        needs,
        lookups,
        place,
        functools.partial(endpoint_for_lookups, place, settings),
        seconds=settings.lookup_seconds,
    )
    found = prerequisites.problems_of(
        needs,
        answers,
        project=place.project,
        location=place.location,
        on_machines=lambda wire: declared.on_machines(inputs, wire, decoded.unknown),
    )
    if place.endpoint != "google" or not (settings.lookup_seconds and settings.preflight_seconds):
        return Prerequisites(problems=found)
    from pulumi_vertex_training.preflight import before_submission  # imported only if needed
    from pulumi_vertex_training.preflight.subject import Subject

    if before_submission.is_off():
        return Prerequisites(problems=found)
    subject = Subject(
        name=name,
        collection=declared.gateway.collection,
        spec=spec,
        staging_bucket=staging_bucket or "",
        unknown=unknown,
        passed_over=frozenset(passed_over),
        made=frozenset(made),
        replaces=replaces,
    )

    def asked(of: Subject, where: Target = place) -> tuple[Problem, ...]:
        return before_submission.problems_of(
            of,
            project=where.project,
            location=where.location,
            connect=functools.partial(endpoint_for_lookups, where, settings),
            lookups=lookups,
            seconds=settings.preflight_seconds,
            reported={problem.path for problem in found},
            is_preview=is_preview,
        )

    rungs = [
        dataclasses.replace(
            subject, spec=on_rung(spec, rung), staging_bucket=rung.staging_bucket or subject.staging_bucket
        )
        for rung in rungs_of(inputs)
    ]
    places = [place._replace(location=rung.location or place.location) for rung in rungs_of(inputs)]
    more = of_rungs(list(map(asked, rungs, places))) if rungs else asked(subject)
    return Prerequisites(problems=(*found, *more), subject=rungs[0] if rungs else subject, target=place)


def of_rungs(each: Sequence[Sequence[Problem]]) -> tuple[Problem, ...]:
    """Return the problems of a job with a ladder, from the problems of each rung.

    A problem of one rung is no reason to refuse the job while another rung has none.
    """
    common = [one for one in each[0] if all(one in others for others in each)]
    refuses = all(errors(problems) for problems in each)
    own = (
        dataclasses.replace(
            one, path=f"capacity[{position}]", message=str(one), level=one.level if refuses else "warning"
        )
        for position, problems in enumerate(each)
        for one in problems
        if one not in common
    )
    return (*common, *own)


def require(
    declared: JobResourceType, name: str, call: Call, *, identity: str, place: Target | None, certain: bool
) -> None:
    """Raise Failure if the job that would replace a run of `identity` could not be submitted.

    `call` is the diff of that run's job, `place` its target. Only warn if it is not `certain` that the job is
    replaced.
    """
    given = call.context.given
    known = given.get(LOOKUPS)
    passed_over = known.get("passed_over") if isinstance(known, dict) else None
    found = prerequisites_of(
        declared,
        name,
        declared.inputs_in(reveal(given)),
        passed_over=passed_over if isinstance(passed_over, list) else (),
        lookups=OPERATION.part(Lookups),
        settings=OPERATION.settings,
        is_preview=call.is_preview,
        replaces=identity,
    ).problems
    if certain and (refused := errors(found)):
        listed = "\n".join(f"  {problem}" for problem in refused)
        raise Failure(
            f"{name} {_kept(declared, call.id, place)} The new job could not be submitted:\n{listed}"
        )
    for problem in found:
        print_line(f"warning: {name}: {problem}")


def _kept(declared: JobResourceType, job: str, place: Target | None) -> str:
    seen = job_cache_of(declared.gateway.collection).of_job(place, job) if place else LookupResult.NO_ANSWER
    if last_run(None, seen) in LIVE and isinstance(seen, str):
        return f"is {seen.rpartition('STATE_')[2]} and goes on, nothing is cancelled."
    return "does not run again, nothing was changed."
