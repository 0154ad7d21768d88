"""Read the option `notifications` of a job, and check it as far as its values are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi import _types

from pulumi_vertex_training.program.arguments.checks import plain
from pulumi_vertex_training.program.arguments.run_options import NotificationsLike
from vertex_training.fields.decode import Decoded, decode
from vertex_training.findings.problems import Problem
from vertex_training.notifications.notification import Notifications, problems

NAME = "notifications"

_EMULATED = ("on", "webhook", "command")
"""The arguments that matter to the emulator. It has no Pub/Sub and no Cloud Monitoring."""


@dataclass(frozen=True)
class DeclaredNotifications:
    """The notifications of a job, each a dictionary of inputs in which the webhook is a secret."""

    items: tuple[Mapping[str, Any], ...]
    findings: tuple[str, ...] = ()


def read(given: NotificationsLike | None, *, on_google: bool) -> DeclaredNotifications:
    """Return the notifications of a job with the errors in them; a value that is not known yet has none."""
    if given is None:
        return DeclaredNotifications(())
    several = list(given) if isinstance(given, (list, tuple)) else [given]
    wrong = [one for one in several if not (isinstance(one, Mapping) or _types.is_input_type(type(one)))]
    if wrong:
        # The value itself may be an address, which is secret.
        what = "an Output" if isinstance(wrong[0], pulumi.Output) else f"a {type(wrong[0]).__name__}"
        return DeclaredNotifications((), (f"{NAME} has {what}; give a NotificationArgs or a dictionary",))
    items = [_inputs(one) for one in several]
    found = decoded({NAME: [plain(one) for one in items]}, on_google=on_google).problems
    findings = [_finding(problem, len(items)) for problem in found if problem.level == "error"]
    return DeclaredNotifications(tuple(map(_with_secrets, items)), tuple(findings))


def decoded(declared: Mapping[str, Any], *, on_google: bool) -> Decoded[Notifications]:
    """Return the notifications as they are known in the program, with the findings about them."""

    def found(known: Notifications) -> list[Problem]:
        return list(problems(known, on_google=on_google))

    return decode(Notifications, declared).then(lambda known: known, found)


def of_emulator(sent: DeclaredNotifications) -> list[Mapping[str, Any]] | None:
    """Return the notifications for the emulator as an input of the job, None if it sends none of them."""
    if not any("webhook" in one or "command" in one for one in sent.items):
        return None
    return [{name: value for name, value in one.items() if name in _EMULATED} for one in sent.items]


def path_of(index: int, count: int) -> str:
    """Return the path of a notification, without an index if there is only one."""
    return NAME if count == 1 else f"{NAME}[{index}]"


def _finding(problem: Problem, count: int) -> str:
    text = str(problem)
    return text.replace(f"{NAME}[0]", NAME, 1) if count == 1 and text.startswith(f"{NAME}[0]") else text


def _inputs(one: object) -> dict[str, Any]:
    """Return the arguments that are given, with names in place of resources."""
    given = one if isinstance(one, Mapping) else _types.input_type_to_dict(one)
    found = {name: value for name, value in given.items() if value is not None}
    if "pubsub_topic" in found:
        found["pubsub_topic"] = _id(found["pubsub_topic"])
    if "channel" in found:
        found["channel"] = _channels(found["channel"])
    return found


def _id(value: object) -> Any:
    return value.id if isinstance(value, pulumi.CustomResource) else value


def _channels(value: object) -> Any:
    """Return a list of names of channels, or an output of one."""
    if isinstance(value, pulumi.Output):
        return value.apply(lambda known: known if isinstance(known, list) else [known])
    if isinstance(value, (list, tuple)):
        return [_id(each) for each in value]
    return [_id(value)]


def _with_secrets(one: Mapping[str, Any]) -> Mapping[str, Any]:
    if "webhook" not in one:
        return one
    return {**one, "webhook": pulumi.Output.secret(one["webhook"])}
