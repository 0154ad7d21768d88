"""`emulator fault add`, `list`, `clear`, and `emulator requests`: what tests ask of a running emulator."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from pulumi_vertex_training.cli.emulator.settings import control_of
from pulumi_vertex_training.views.output import Output

_OWN_PATHS = "/_local/"


def add(options: argparse.Namespace, output: Output) -> None:
    """Set a fault."""
    fault = {
        "method": options.method,
        "status": options.status,
        "message": options.message,
        "stall": options.stall,
        "delay": options.delay,
        "drop": options.drop,
        "stale": _look_back(options),
        "nth": options.nth,
        "times": "always" if options.always else options.times,
    }
    with control_of(options) as control:
        added = control.add_fault({name: value for name, value in fault.items() if value is not None})
    if output.as_json:
        output.document(added)
    else:
        output.line(f"Fault {added['number']}: {_when(added)} {_what(added)}.")


def list_faults(options: argparse.Namespace, output: Output) -> None:
    """The faults that are set, the oldest first."""
    with control_of(options) as control:
        faults = control.faults()
    if output.as_json:
        output.document({"faults": faults})
    elif not faults:
        output.line("No fault is set.")
    else:
        rows = [
            (str(each["number"]), f"{_when(each)} {_what(each)}", str(each["seen"]), str(each["fired"]))
            for each in faults
        ]
        output.table(("FAULT", "WHAT", "CALLS", "SPOILT"), rows)


def clear(options: argparse.Namespace, output: Output) -> None:
    """Remove all faults, or the one that is named."""
    with control_of(options) as control:
        if options.number is None:
            removed = control.clear_faults()
        else:
            control.remove_fault(options.number)
            removed = 1
    if output.as_json:
        output.document({"removed": removed})
    else:
        output.line(
            {0: "No fault was set.", 1: "1 fault is removed."}.get(removed, f"{removed} faults are removed.")
        )


def requests(options: argparse.Namespace, output: Output) -> None:
    """The last requests to the emulated services, and how often each method was called."""
    with control_of(options) as control:
        recorded = control.requests()
        if options.forget:
            control.forget_requests()
    entries = [each for each in recorded["requests"] if not each["target"].startswith(_OWN_PATHS)]
    shown = entries[max(len(entries) - options.last, 0) :]
    if output.as_json:
        output.document({"requests": shown, "counts": recorded["counts"]})
        return
    if not shown:
        output.line("No request has come yet.")
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
        for each in shown
    ]
    output.table(("TIME", "STATUS", "MS", "CALL", "TARGET", "CLIENT"), rows)
    output.section("Calls")
    output.pairs([(call, str(count)) for call, count in recorded["counts"].items()])


def _look_back(options: argparse.Namespace) -> Mapping[str, Any] | None:
    given = {"seconds": options.stale_seconds, "changes": options.stale_changes}
    return {name: value for name, value in given.items() if value is not None} or None


def _when(fault: Mapping[str, Any]) -> str:
    """Which calls, as the subject of a sentence."""
    first, times, method = fault["nth"], fault["times"], fault["method"]
    if times == "always":
        return f"every call of {method}" if first == 1 else f"every call of {method} from the {_th(first)} on"
    if times == 1:
        return f"the {'next' if first == 1 else _th(first)} call of {method}"
    if first == 1:
        return f"each of the next {times} calls of {method}"
    return f"each of the {_th(first)} to {_th(first + times - 1)} call of {method}"


def _th(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _what(fault: Mapping[str, Any]) -> str:
    """What happens to them, as the rest of that sentence."""
    wait, stale = fault["stall"], fault["stale"]
    waits = f"waits for {wait:g} s and " if wait else ""
    if fault["drop"] == "after":
        closed = f"closed after {wait:g} s" if wait else "closed"
        return f"is carried out, and the connection is {closed} without an answer"
    if fault["drop"] == "before":
        return f"{waits}is not carried out: the connection is closed without an answer"
    if fault["status"] is not None:
        return f"{waits}is answered with {fault['status']}"
    if fault["delay"]:
        return f"{waits}is carried out, and answered {fault['delay']:g} s later"
    if stale is None:
        return f"waits for {wait:g} s"
    if "seconds" in stale:
        return f"{waits}shows the list as it was {stale['seconds']:g} s ago"
    changes = stale["changes"]
    last = "the last job was" if changes == 1 else f"the last {changes} jobs were"
    return f"{waits}shows the list as it was before {last} created or deleted"
