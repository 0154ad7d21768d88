"""Notifications: what is accepted, and the facts about the end of a run."""

from __future__ import annotations

from typing import Any

from support.tables import every_row
from vertex_training.fields.decode import UNKNOWN, decode
from vertex_training.notifications import ended_run
from vertex_training.notifications.ended_run import EndedRun
from vertex_training.notifications.notification import Notifications, of_emulator, problems

SECRET = "https://hooks.example.com/s3cr3t?token=t0k3n"


def errors(*given: dict[str, Any], on_google: bool = False) -> list[str]:
    decoded = decode(Notifications, {"notifications": list(given)}).then(
        lambda known: known, lambda known: list(problems(known, on_google=on_google))
    )
    return [str(problem) for problem in decoded.problems]


ACCEPTED: list[dict[str, Any]] = [
    {"webhook": SECRET},
    {"webhook": "http://127.0.0.1:8080"},
    {"webhook": "http://[::1]:8080/a"},
    {"webhook": "https://example.com?x=1"},
    {"on": ["failed", "cancelled"], "command": ["notify-send", ""]},
    {"command": ["/usr/bin/env", "a b", "$(x)"]},
    {"pubsub_topic": "runs"},
    {"pubsub_topic": "projects/p/topics/runs"},
    {"channel": ["projects/p/notificationChannels/1", "projects/p/notificationChannels/2"]},
    {"webhook": UNKNOWN},
]


@every_row("given", ACCEPTED)
def test_accepted(given: dict[str, Any]) -> None:
    assert errors(given) == []


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "notifications[0]: has no target."),
    ({"on": ["succeeded"]}, "notifications[0]: has no target."),
    ({"on": [], "command": ["a"]}, "notifications[0].on: is empty."),
    ({"on": ["done"], "command": ["a"]}, "notifications[0].on[0]: the string 'done'"),
    ({"webhook": "hooks.example.com/s3cr3t"}, "notifications[0].webhook: is not the address"),
    ({"webhook": "ftp://example.com/s3cr3t"}, "notifications[0].webhook: is not the address"),
    ({"webhook": "file:///s3cr3t"}, "notifications[0].webhook: is not the address"),
    ({"webhook": "https://s3cr3t@example.com"}, "notifications[0].webhook: is not the address"),
    ({"webhook": "https://example.com/s3cr3t#a"}, "notifications[0].webhook: is not the address"),
    ({"webhook": "https://example.com/s3cr3t a"}, "notifications[0].webhook: is not the address"),
    ({"webhook": "https://example.com/s3cr3t\r\nX: y"}, "notifications[0].webhook: is not the address"),
    ({"webhook": "https:///s3cr3t"}, "notifications[0].webhook: is not the address"),
    ({"webhook": "https://example.com:99999/s3cr3t"}, "notifications[0].webhook: has a port"),
    ({"command": ["./s3cr3t"]}, "notifications[0].command[0]: is neither a name on PATH"),
    ({"command": ["bin/s3cr3t"]}, "notifications[0].command[0]: is neither a name on PATH"),
    ({"command": ["", "s3cr3t"]}, "notifications[0].command[0]: is neither a name on PATH"),
    ({"command": ["a", "s3cr3t\0"]}, "notifications[0].command[1]: has a NUL"),
    ({"pubsub_topic": "projects/p/runs"}, "notifications[0].pubsub_topic: is not a Pub/Sub topic"),
    ({"channel": ["123"]}, "notifications[0].channel: is not a channel"),
    (
        {"channel": ["projects/p/notificationChannels/1", "2"]},
        "notifications[0].channel[1]: is not a channel",
    ),
]


@every_row(["given", "message"], REFUSED)
def test_refused_without_the_value_of_an_address_or_a_command(given: dict[str, Any], message: str) -> None:
    (found,) = errors(given)
    assert found.startswith(message)
    assert "s3cr3t" not in found


@every_row(
    "webhook, refused",
    [
        (SECRET, False),
        ("http://example.com/a", True),
        ("https://localhost/a", True),
        ("https://127.0.0.1/a", True),
    ],
)
def test_google_posts_to_public_https_addresses_only(webhook: str, refused: bool) -> None:
    assert bool(errors({"webhook": webhook}, on_google=True)) is refused


def test_no_text_of_a_notification_shows_its_address_or_command() -> None:
    given = {"notifications": [{"webhook": SECRET, "command": ["notify", "t0k3n"]}]}
    declared = decode(Notifications, given).spec
    assert declared is not None
    assert "t0k3n" not in repr(declared)


def test_the_emulator_gets_what_it_can_send() -> None:
    given = {"notifications": [{"pubsub_topic": "runs"}, {"webhook": SECRET, "channel": ["c"]}]}
    declared = decode(Notifications, given).spec
    assert declared is not None
    (kept,) = of_emulator(declared).notifications
    assert (kept.webhook, kept.channel, kept.pubsub_topic) == (SECRET, (), None)


@every_row(
    "state, event",
    [
        ("JOB_STATE_SUCCEEDED", "succeeded"),
        ("JOB_STATE_FAILED", "failed"),
        ("PIPELINE_STATE_CANCELLED", "cancelled"),
        ("JOB_STATE_RUNNING", None),
        ("", None),
    ],
)
def test_events_of_states(state: str, event: str | None) -> None:
    assert ended_run.event_of(state) == event


RUN = EndedRun(
    event="failed",
    state="JOB_STATE_FAILED",
    job="projects/p/locations/l/customJobs/7",
    kind="CustomJob",
    display_name="digits",
    project="p",
    location="l",
    resource="train",
    error="it broke\n\0at once",
)


def test_facts_as_variables() -> None:
    variables = ended_run.variables(RUN.facts(), delivery="d1")
    assert variables["VERTEX_TRAINING_RUN_EVENT"] == "failed"
    assert variables["VERTEX_TRAINING_RUN_JOB_ID"] == "7"
    assert variables["VERTEX_TRAINING_RUN_ERROR"] == "it broke\n at once"
    assert variables["VERTEX_TRAINING_RUN_DELIVERY"] == "d1"


def test_facts_as_an_incident() -> None:
    incident = ended_run.incident(RUN.facts(), RUN.summary, delivery="d1", started_at=12)
    assert incident["incident"]["summary"] == "train: CustomJob 7 failed"
    assert incident["incident"]["resource"] == {
        "type": "ml_job",
        "labels": {"project_id": "p", "job_id": "7"},
    }
    assert incident["run"]["delivery"] == incident["incident"]["incident_id"] == "d1"
