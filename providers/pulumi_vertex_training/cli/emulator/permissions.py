"""`emulator deny`, `emulator allow` and `emulator service`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from pulumi_vertex_training.cli.emulator.settings import control_of
from pulumi_vertex_training.views.failure import InputError
from pulumi_vertex_training.views.output import Output


def deny(options: argparse.Namespace, output: Output) -> None:
    """Deny a permission, or without one list the denials."""
    if options.permission is None:
        _list_denials(options, output)
        return
    with control_of(options) as control:
        found = control.deny(options.permission, resource=options.resource)
    if output.as_json:
        output.document(found)
        return
    output.line(f"Denied: {denial_text(found)}.")
    if not found["enforced"]:
        output.note(
            f"note: no call of the emulator needs {found['permission']}. Only checks of permissions leave it "
            "out."
        )


def _list_denials(options: argparse.Namespace, output: Output) -> None:
    if options.resource is not None:
        raise InputError("Name the permission to deny, such as storage.objects.create.", path="PERMISSION")
    with control_of(options) as control:
        denials = control.denials()
    if output.as_json:
        output.document({"denials": denials})
    elif not denials:
        output.line("No permission is denied.")
    else:
        rows = [(each["permission"], each["resource"] or "everything") for each in denials]
        output.table(("PERMISSION", "RESOURCE"), rows)


def denial_text(denial: Mapping[str, Any]) -> str:
    """Return a denial in words."""
    where = denial["resource"]
    return f"{denial['permission']} on {where}" if where else str(denial["permission"])


def allow(options: argparse.Namespace, output: Output) -> None:
    """Remove all denials, or some."""
    with control_of(options) as control:
        removed = control.allow(options.permission, resource=options.resource)
    if output.as_json:
        output.document({"removed": removed})
    else:
        output.line(f"Removed denials: {removed}.")


def service(options: argparse.Namespace, output: Output) -> None:
    """Enable or disable a service, or list what was changed."""
    if options.service_action == "list":
        _list_services(options, output)
        return
    enabled = options.service_action == "enable"
    with control_of(options) as control:
        found = control.enable_service(options.service, enabled=enabled, project=options.project)
    if output.as_json:
        output.document(found)
    else:
        output.line(f"{service_text(found)}.")


def _list_services(options: argparse.Namespace, output: Output) -> None:
    with control_of(options) as control:
        services = control.services()
    if output.as_json:
        output.document({"services": services})
    elif not services:
        output.line("The emulator's services are enabled in each project.")
    else:
        rows = [
            (each["service"], each["project"] or "each", "enabled" if each["enabled"] else "disabled")
            for each in services
        ]
        output.table(("SERVICE", "PROJECT", "STATE"), rows)


def service_text(state: Mapping[str, Any]) -> str:
    """Return the setting of a service in words."""
    word = "enabled" if state["enabled"] else "disabled"
    where = f"the project {state['project']}" if state["project"] else "each project"
    return f"{state['service']} is {word} in {where}"
