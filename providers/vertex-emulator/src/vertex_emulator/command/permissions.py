"""`deny`, `allow`, `allow-host` and `service`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from vertex_emulator.command.target import control_of
from vertex_training.command_line.answer import Answer, Rows, Sentences
from vertex_training.command_line.errors import InputError
from vertex_training.command_line.output import Output


def deny(options: argparse.Namespace, _: Output) -> Answer:
    """Deny a permission, or without one list the denials."""
    if options.permission is None:
        return _denials(options)
    with control_of(options) as control:
        found = control.deny(options.permission, resource=options.resource)
    note = (
        f"note: no call of the emulator needs {found['permission']}. Only checks of permissions leave it out."
    )
    return Sentences(found, [f"Denied: {denial_text(found)}."], () if found["enforced"] else [note])


def _denials(options: argparse.Namespace) -> Answer:
    if options.resource is not None:
        raise InputError("Name the permission to deny, such as storage.objects.create.", path="PERMISSION")
    with control_of(options) as control:
        denials = control.denials()
    return Rows(
        {"denials": denials},
        ("PERMISSION", "RESOURCE"),
        [(each["permission"], each["resource"] or "everything") for each in denials],
        empty="No permission is denied.",
    )


def denial_text(denial: Mapping[str, Any]) -> str:
    """Return a denial in words."""
    where = denial["resource"]
    return f"{denial['permission']} on {where}" if where else str(denial["permission"])


def allow(options: argparse.Namespace, _: Output) -> Answer:
    """Remove all denials, or some."""
    with control_of(options) as control:
        removed = control.allow(options.permission, resource=options.resource)
    return Sentences({"removed": removed}, [f"Removed denials: {removed}."])


def allow_host(options: argparse.Namespace, _: Output) -> Answer:
    """Let programs reach a host of Google that the emulator does not have, or list such hosts."""
    if options.none and options.host is not None:
        raise InputError("Name a host, or use --none.", path="HOST")
    with control_of(options) as control:
        if options.none:
            control.refuse_hosts()
        hosts = control.allowed_hosts() if options.host is None else control.allow_host(options.host)
    return Sentences({"hosts": hosts}, [f"Allowed hosts of Google: {', '.join(hosts) or 'none'}."])


def service(options: argparse.Namespace, _: Output) -> Answer:
    """Enable or disable a service, or list what was changed."""
    with control_of(options) as control:
        if options.service_action != "list":
            enabled = options.service_action == "enable"
            found = control.enable_service(options.service, enabled=enabled, project=options.project)
            return Sentences(found, [f"{service_text(found)}."])
        services = control.services()
    return Rows(
        {"services": services},
        ("SERVICE", "PROJECT", "STATE"),
        [
            (each["service"], each["project"] or "each", "enabled" if each["enabled"] else "disabled")
            for each in services
        ],
        empty="The emulator's services are enabled in each project.",
    )


def service_text(state: Mapping[str, Any]) -> str:
    """Return the setting of a service in words."""
    word = "enabled" if state["enabled"] else "disabled"
    where = f"the project {state['project']}" if state["project"] else "each project"
    return f"{state['service']} is {word} in {where}"
