"""A notification of the end of a run: for which ends it is sent, and to which targets.

No finding shows an address or a command: both may hold a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from vertex_training.findings.problems import Problem

Event = Literal["succeeded", "failed", "cancelled"]
EVENTS: tuple[Event, ...] = get_args(Event)

_WEBHOOK = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252}))"
    r"(?P<port>:[0-9]{1,5})?(?P<rest>[/?][!\x22$-~]*)?"
)
_LOOPBACK = re.compile(r"localhost|127(?:\.[0-9]{1,3}){3}|\[::1\]", re.IGNORECASE)
_LONGEST_WEBHOOK = 2048
_TOPIC = re.compile(r"(?:projects/[^/\s]+/topics/)?[A-Za-z][A-Za-z0-9._~+%-]{2,254}")
_CHANNEL = re.compile(r"projects/[^/\s]+/notificationChannels/[^/\s]+")
_MAX_PORT = 65535


@dataclass(frozen=True, kw_only=True)
class Notification:
    """A notification of the end of each run of a job."""

    on: tuple[Event, ...] = EVENTS
    """Ends that are reported: `succeeded`, `failed`, `cancelled`. Default: all of them."""
    webhook: str | None = field(default=None, repr=False)
    """Address to which a JSON document is posted, with its token if it needs one. It is always a secret."""
    pubsub_topic: str | None = None
    """Pub/Sub topic that gets a message: a resource, `projects/PROJECT/topics/TOPIC`, or its name in the
    job's project. On Google Cloud only.
    """
    channel: tuple[str, ...] = ()
    """One or more existing channels of Cloud Monitoring: resources, or
    `projects/PROJECT/notificationChannels/ID`. On Google Cloud only.
    """
    command: tuple[str, ...] = field(default=(), repr=False)
    """Program with its arguments, which the emulator runs on this machine without a shell. The program is a
    name on PATH or an absolute path. On the emulator only.
    """


@dataclass(frozen=True, kw_only=True)
class Notifications:
    """The notifications of one job."""

    notifications: tuple[Notification, ...] = ()


def of_emulator(declared: Notifications) -> Notifications:
    """Return the notifications that the emulator sends: without Pub/Sub topics and channels."""
    kept = (
        Notification(on=one.on, webhook=one.webhook, command=one.command)
        for one in declared.notifications
        if one.webhook or one.command
    )
    return Notifications(notifications=tuple(kept))


def is_loopback(webhook: str) -> bool:
    """Return whether a webhook is on the machine that sends it."""
    match = _WEBHOOK.fullmatch(webhook)
    return match is not None and _LOOPBACK.fullmatch(match["host"]) is not None


def problems(
    declared: Notifications, *, on_google: bool = False, needs_target: bool = True
) -> Iterator[Problem]:
    """Yield the findings about notifications."""
    for index, one in enumerate(declared.notifications):
        path = f"notifications[{index}]"
        if not one.on:
            ends = ", ".join(EVENTS)
            yield Problem(
                path=f"{path}.on", message=f"is empty. Name some of {ends}, or leave it out for all."
            )
        if needs_target and not (one.webhook or one.pubsub_topic or one.channel or one.command):
            yield Problem(
                path=path,
                message="has no target. Give webhook, pubsub_topic, channel or command.",
                rests_on=tuple(
                    f"{path}.{name}" for name in ("webhook", "pubsub_topic", "channel", "command")
                ),
            )
        yield from _webhook_problems(f"{path}.webhook", one.webhook, on_google=on_google)
        yield from _command_problems(f"{path}.command", one.command)
        yield from _name_problems(path, one)


def _webhook_problems(path: str, webhook: str | None, *, on_google: bool) -> Iterator[Problem]:
    if webhook is None:
        return
    match = _WEBHOOK.fullmatch(webhook)
    if match is None or len(webhook) > _LONGEST_WEBHOOK:
        yield Problem(
            path=path,
            message="is not the address of a webhook. Give one such as https://HOST/PATH?token=TOKEN, "
            "without a user name, a fragment or blanks.",
        )
    elif match["port"] and not 0 < int(match["port"][1:]) <= _MAX_PORT:
        yield Problem(path=path, message=f"has a port that is not between 1 and {_MAX_PORT}.")
    elif on_google and (match["scheme"] != "https" or _LOOPBACK.fullmatch(match["host"])):
        yield Problem(
            path=path,
            message="cannot be used on Google Cloud, which posts to public https addresses only. Give an "
            "address that begins with https:// and is not on this machine.",
        )


def _command_problems(path: str, command: Sequence[str]) -> Iterator[Problem]:
    if not command:
        return
    if not command[0] or ("/" in command[0] and not command[0].startswith("/")):
        yield Problem(
            path=f"{path}[0]",
            message="is neither a name on PATH nor an absolute path. For a file beside the program, give "
            'str(Path(__file__).with_name("notify.py")).',
        )
    for index, argument in enumerate(command):
        if "\0" in argument:
            yield Problem(path=f"{path}[{index}]", message="has a NUL character. Remove it.")


def _name_problems(path: str, one: Notification) -> Iterator[Problem]:
    if one.pubsub_topic is not None and not _TOPIC.fullmatch(one.pubsub_topic):
        yield Problem(
            path=f"{path}.pubsub_topic",
            message="is not a Pub/Sub topic. Give projects/PROJECT/topics/TOPIC, or the name of a topic.",
        )
    for index, channel in enumerate(one.channel):
        if not _CHANNEL.fullmatch(channel):
            yield Problem(
                path=f"{path}.channel" if len(one.channel) == 1 else f"{path}.channel[{index}]",
                message="is not a channel of Cloud Monitoring. Give projects/PROJECT/notificationChannels/"
                "ID, as `gcloud beta monitoring channels list` prints it.",
            )
