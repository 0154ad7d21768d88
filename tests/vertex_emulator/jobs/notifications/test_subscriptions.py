"""The files of subscriptions: written by deployments, read by the emulator."""

from __future__ import annotations

from pathlib import Path

import pytest

from vertex_emulator.jobs.notifications import subscriptions
from vertex_emulator.jobs.notifications.subscriptions import Subscription, Subscriptions
from vertex_training.notifications.notification import Notification

FIRST, SECOND, OTHER = "1" * 16, "2" * 16, "3" * 16


def subscription(id_: str, *, declaration: str = "feed", collection: str = "customJobs") -> Subscription:
    command = Notification(on=("failed",), command=("notify", "a b"))
    return Subscription(
        id=id_, declaration=declaration, collection=collection, notifications=(Notification(), command)
    )


def test_what_is_written_is_read(tmp_path: Path) -> None:
    subscriptions.write(tmp_path, subscription(FIRST))
    assert Subscriptions(tmp_path).all() == (subscription(FIRST),)


def test_changes_of_files_are_seen(tmp_path: Path) -> None:
    found = Subscriptions(tmp_path)
    assert found.all() == ()
    subscriptions.write(tmp_path, subscription(FIRST))
    assert [one.declaration for one in found.all()] == ["feed"]
    subscriptions.write(tmp_path, subscription(FIRST, declaration="f00d"))
    assert [one.declaration for one in found.all()] == ["f00d"]
    subscriptions.remove(tmp_path, FIRST)
    subscriptions.remove(tmp_path, FIRST)
    assert found.all() == ()


def test_what_a_killed_deployment_left_is_replaced(tmp_path: Path) -> None:
    for one in (
        subscription(FIRST),
        subscription(SECOND),
        subscription(OTHER, collection="trainingPipelines"),
    ):
        subscriptions.write(tmp_path, one)
    subscriptions.remove_others(tmp_path, subscription(SECOND))
    assert [one.id for one in Subscriptions(tmp_path).all()] == [SECOND, OTHER]


def test_jobs_of_a_subscription(tmp_path: Path) -> None:
    one = subscription(FIRST)
    label = {subscriptions.DECLARATION_LABEL: "feed"}
    assert one.is_for("customJobs", label, "7")
    assert not one.is_for("trainingPipelines", label, "7")
    assert not one.is_for("customJobs", {}, "7")
    assert not subscription(FIRST, declaration="").is_for("customJobs", {}, "7")


def test_an_id_is_no_path(tmp_path: Path) -> None:
    for id_ in ("../x", "", "a/b", FIRST.upper() + "g"):
        with pytest.raises(ValueError, match="is not the id of a subscription"):
            subscriptions.remove(tmp_path, id_)
