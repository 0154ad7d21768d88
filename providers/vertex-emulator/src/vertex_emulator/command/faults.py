"""`fault add`, `list` and `clear`, and `requests`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vertex_emulator.command.target import control_of
from vertex_training.command_line.answer import Answer, Rows, Sentences
from vertex_training.command_line.output import Output

_CONTROL_PATHS = "/_local/"


def add(options: argparse.Namespace, _: Output) -> Answer:
    """Set a fault."""
    fault = {
        "method": options.method,
        "status": options.status,
        "message": options.message,
        "stall": options.stall,
        "delay": options.delay,
        "drop": options.drop,
        "stale": _staleness(options),
        "nth": options.nth,
        "times": "always" if options.always else options.times,
    }
    with control_of(options) as control:
        added = control.add_fault({name: value for name, value in fault.items() if value is not None})
    return Sentences(added, [f"Fault {added['number']}: {_calls(added)} {_effect(added)}."])


def list_faults(options: argparse.Namespace, _: Output) -> Answer:
    """List the faults, the oldest first."""
    with control_of(options) as control:
        faults = control.faults()
    return Rows(
        {"faults": faults},
        ("FAULT", "EFFECT", "CALLS", "AFFECTED"),
        [
            (str(each["number"]), f"{_calls(each)} {_effect(each)}", str(each["seen"]), str(each["fired"]))
            for each in faults
        ],
        empty="No fault is set.",
    )


def clear(options: argparse.Namespace, _: Output) -> Answer:
    """Remove all faults, or the given one."""
    with control_of(options) as control:
        if options.number is None:
            removed = control.clear_faults()
        else:
            control.remove_fault(options.number)
            removed = 1
    said = {0: "No fault was set.", 1: "Removed 1 fault."}.get(removed, f"Removed {removed} faults.")
    return Sentences({"removed": removed}, [said])


@dataclass(frozen=True, kw_only=True)
class Requests(Answer):
    """The last requests to the emulated services, and the number of calls of each method."""

    requests: Sequence[Mapping[str, Any]]
    counts: Mapping[str, int]

    def show(self, output: Output) -> None:
        if not self.requests:
            output.line("No requests yet.")
            return
        rows = [
            (
                each["time"],
                f"{each['status']}" + (f" (fault {each['fault']})" if each["fault"] else ""),
                f"{each['milliseconds']:.1f}",
                each["call"] or each["method"],
                each["target"],
                each["client"],
            )
            for each in self.requests
        ]
        output.table(("TIME", "STATUS", "MS", "CALL", "TARGET", "CLIENT"), rows)
        output.section("Calls")
        output.pairs([(call, str(count)) for call, count in self.counts.items()])


def requests(options: argparse.Namespace, _: Output) -> Answer:
    """Run the command `requests`."""
    with control_of(options) as control:
        recorded = control.requests()
        if options.forget:
            control.forget_requests()
    entries = [each for each in recorded["requests"] if not each["target"].startswith(_CONTROL_PATHS)]
    return Requests(requests=entries[max(len(entries) - options.last, 0) :], counts=recorded["counts"])


def _staleness(options: argparse.Namespace) -> Mapping[str, Any] | None:
    given = {"seconds": options.stale_seconds, "changes": options.stale_changes}
    return {name: value for name, value in given.items() if value is not None} or None


def _calls(fault: Mapping[str, Any]) -> str:
    """Return the calls that a fault affects, as the subject of a sentence."""
    first, times, method = fault["nth"], fault["times"], fault["method"]
    if times == "always":
        return (
            f"every call of {method}"
            if first == 1
            else f"every call of {method} from the {_ordinal(first)} on"
        )
    if times == 1:
        return f"the {'next' if first == 1 else _ordinal(first)} call of {method}"
    if first == 1:
        return f"each of the next {times} calls of {method}"
    return f"each of the {_ordinal(first)} to {_ordinal(first + times - 1)} call of {method}"


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _effect(fault: Mapping[str, Any]) -> str:
    """Return the effect of a fault on its calls, as the rest of that sentence."""
    wait, stale = fault["stall"], fault["stale"]
    waits = f"waits for {wait:g} s and " if wait else ""
    if fault["drop"] == "after":
        closed = f"closed after {wait:g} s" if wait else "closed"
        return f"is carried out, and the connection is {closed} without a response"
    if fault["drop"] == "before":
        return f"{waits}is not carried out: the connection is closed without a response"
    if fault["status"] is not None:
        return f"{waits}gets the response {fault['status']}"
    if fault["delay"]:
        return f"{waits}is carried out, and gets its response {fault['delay']:g} s later"
    if stale is None:
        return f"waits for {wait:g} s"
    if "seconds" in stale:
        return f"{waits}gets the list of {stale['seconds']:g} s ago"
    changes = stale["changes"]
    last = "the last job was" if changes == 1 else f"the last {changes} jobs were"
    return f"{waits}gets the list before {last} created or deleted"
