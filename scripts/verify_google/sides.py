"""Run cases against one endpoint, several at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

from pulumi_vertex_training.cloud.endpoint import Endpoint
from scripts.verify_google.budget import PENNIES, Budget, BudgetError
from scripts.verify_google.cases.case import Case
from scripts.verify_google.comparison import CaseResult
from scripts.verify_google.journal import Journal
from scripts.verify_google.prices import UnknownPriceError
from scripts.verify_google.recorder import CaseError, Names, Pace, Recorder, StoppedError
from scripts.verify_google.sanitising import Sanitiser

OnResult = Callable[[CaseResult], None]

WORKERS = 8
"""Cases at a time: most of them wait for a job."""


@dataclass(kw_only=True)
class Side:
    """One endpoint in one run: where its creations are journaled and its costs counted."""

    endpoint: Endpoint
    run: str
    journal: Journal
    budget: Budget
    pace: Pace
    stopped: threading.Event = field(default_factory=threading.Event)
    used: dict[str, float] = field(default_factory=dict)
    """Dollars of each job that was submitted, by its name."""


def run_cases(
    cases: Sequence[Case],
    side: Side,
    *,
    on_result: OnResult,
    on_interrupt: Callable[[], None] = lambda: None,
) -> dict[str, CaseResult]:
    """Run cases and return their results by name. An interruption waits for the calls in flight."""
    results: dict[str, CaseResult] = {}
    with ThreadPoolExecutor(max_workers=WORKERS) as pool:
        try:
            futures = [pool.submit(_run_case, case, side) for case in cases]
            for future in as_completed(futures):
                result = future.result()
                results[result.case] = result
                on_result(result)
        except BaseException:
            side.stopped.set()
            on_interrupt()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return {case.name: results[case.name] for case in cases}


def _run_case(case: Case, side: Side) -> CaseResult:
    names = Names(run=side.run, case=case.name, location=side.endpoint.location)
    recorder = Recorder(
        endpoint=side.endpoint,
        names=names,
        journal=side.journal,
        budget=side.budget,
        sanitiser=Sanitiser(project=side.endpoint.project, run=side.run),
        pace=side.pace,
        stopped=side.stopped,
    )
    try:
        if case.stores:
            side.budget.reserve(PENNIES, reason=f"{case.name}: data")
        case.steps(recorder)
    except (BudgetError, UnknownPriceError) as error:
        return CaseResult(case=case.name, outcome="not run", reason=str(error))
    except StoppedError as error:
        return CaseResult(case=case.name, outcome="failed", reason=str(error))
    except (CaseError, KeyError, ValueError) as error:
        # An answer of another shape than a case expects is a finding, and no reason to lose the others.
        reason = recorder.sanitiser.text(str(error) if isinstance(error, CaseError) else repr(error))
        return CaseResult(case=case.name, outcome="failed", answers=tuple(recorder.answers), reason=reason)
    finally:
        side.used.update(recorder.used)
    return CaseResult(case=case.name, outcome="answered", answers=tuple(recorder.answers))
