"""`/_local/faults`: set, list and remove faults."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence

from vertex_emulator.faults.fault import STALE_LISTS, Fault, FaultError, is_named, read
from vertex_emulator.faults.switchboard import Faults
from vertex_emulator.http.messages import HttpError, Request, Response, Route, json_response

_PATH = "/_local/faults"


def fault_routes(faults: Faults, calls: Collection[str]) -> Sequence[Route]:
    """`calls` are the names of all methods; a fault for none of them is refused."""

    def listed(_request: Request, _match: re.Match[str]) -> Response:
        return json_response({"faults": faults.to_json()})

    def add(request: Request, _match: re.Match[str]) -> Response:
        try:
            fault = read(request.body.json())
            _check_method(fault, calls)
        except FaultError as error:
            raise _refusal(error) from error
        return json_response(faults.add(fault))

    def clear(_request: Request, _match: re.Match[str]) -> Response:
        return json_response({"removed": faults.clear()})

    def remove(_request: Request, match: re.Match[str]) -> Response:
        if not faults.remove(int(match[1])):
            raise HttpError(404, "", f"There is no fault {match[1]}. GET {_PATH} lists those there are.")
        return json_response({"removed": 1})

    return (
        Route("GET", _PATH, listed),
        Route("POST", _PATH, add),
        Route("DELETE", _PATH, clear),
        Route("DELETE", rf"{_PATH}/([0-9]{{1,18}})", remove),
    )


def _check_method(fault: Fault, calls: Collection[str]) -> None:
    if any(fault.meets(call) for call in calls):
        return
    if any(is_named(call, fault.method) for call in calls):
        lists = ", ".join(sorted(STALE_LISTS))
        raise FaultError([("stale", f"{fault.method} cannot be stale; only {lists} can.")])
    names = sorted(calls) + sorted(call.rpartition(".")[2] for call in calls)
    near = difflib.get_close_matches(fault.method, names, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise FaultError(
        [
            (
                "method",
                f"The emulator has no method {fault.method!r}.{hint} Names are like "
                "JobService.CreateCustomJob, storage.objects.insert, storage.* or *.",
            )
        ]
    )


def _refusal(error: FaultError) -> HttpError:
    violations = [{"field": field, "description": sentence} for field, sentence in error.problems]
    details = {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations}
    return HttpError(400, "", str(error), details=(details,))
