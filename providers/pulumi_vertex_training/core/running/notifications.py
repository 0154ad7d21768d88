"""The provider of `Notifications`: a file in the emulator's data folder, which the emulator reads.

Only this process writes it, with the rights of whoever deploys. A method of the emulator could be called by a
training program, too, and the file may name a command (`vertex_emulator.notifications.subscriptions`).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pulumi_vertex_training.core.call import Call, Checked, Created, Difference, Found, Values
from pulumi_vertex_training.core.connection import endpoint_of
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.provider import Failure, Provider, complete
from vertex_emulator import launcher
from vertex_emulator.kernel.data_folder import DataFolderError
from vertex_emulator.notifications import subscriptions
from vertex_emulator.notifications.subscriptions import Subscription
from vertex_training.fields.decode import Decoded, decode
from vertex_training.findings.problems import Problem
from vertex_training.notifications.notification import Notification, Notifications, problems

_ID_LENGTH = 16


@dataclass(frozen=True, kw_only=True)
class NotificationsInputs:
    """The inputs of `Notifications`.

    `run` is the part of a run's key that all runs of a declaration share. `adopt` is the id or full name of
    a job that was adopted. `sends` describes the notifications in words for previews: the notifications
    themselves are secret as a whole if one of them has a secret. Check fills it in.
    """

    run: str
    collection: str
    notifications: tuple[Notification, ...]
    endpoint: str
    project: str
    location: str
    adopt: str | None = None
    sends: tuple[str, ...] = ()


class NotificationsProvider(Provider):
    """The provider of `Notifications`. Its outputs are its inputs."""

    def check(self, call: Call) -> Checked:
        decoded = _decoded(call.inputs)
        if decoded.spec is None:
            return Checked(problems=decoded.problems)
        described = replace(decoded.spec, sends=tuple(map(_in_words, decoded.spec.notifications)))
        return Checked(inputs=complete(described, unknown=decoded.unknown))

    def diff(self, call: Call) -> Difference:
        return Difference(changes=call.outputs != call.inputs)

    def create(self, call: Call) -> Created:
        inputs = _inputs(call.inputs)
        made = _write(uuid.uuid4().hex[:_ID_LENGTH], inputs, call.inputs)
        return Created(id=made, outputs=complete(inputs))

    def update(self, call: Call) -> Values:
        inputs = _inputs(call.inputs)
        _write(call.id, inputs, call.inputs)
        return complete(inputs)

    def read(self, call: Call) -> Found | None:
        try:
            found = subscriptions.exists(_data_dir(), call.id)
        except OSError as error:
            raise _unusable("read", error) from error
        return Found(outputs=call.outputs, inputs=call.outputs) if found else None

    def delete(self, call: Call) -> None:
        try:
            subscriptions.remove(_data_dir(), call.id)
        except OSError as error:
            raise _unusable("removed", error) from error


def _decoded(props: Mapping[str, Any]) -> Decoded[NotificationsInputs]:
    def found(inputs: NotificationsInputs) -> list[Problem]:
        return list(_problems(inputs))

    return decode(NotificationsInputs, props).then(lambda inputs: inputs, found)


def _in_words(one: Notification) -> str:
    """Describe a notification, such as "succeeded, failed: webhook, command"; "" if none is sent."""
    targets = [name for name in ("webhook", "command") if getattr(one, name)]
    return f"{', '.join(one.on)}: {', '.join(targets)}" if targets else ""


def _problems(inputs: NotificationsInputs) -> Iterator[Problem]:
    # The program has seen the targets that the emulator does not send, too.
    return problems(Notifications(notifications=inputs.notifications), needs_target=False)


def _inputs(props: Mapping[str, Any]) -> NotificationsInputs:
    spec = _decoded(props).spec
    if spec is None:
        raise Failure("the inputs of the notifications cannot be read; please report this")
    return spec


def _write(subscription_id: str, inputs: NotificationsInputs, props: Mapping[str, Any]) -> str:
    """Write the subscription, and remove others of its job, as a killed deployment may have left them."""
    endpoint_of(props)  # a started emulator has made its data folder
    one = Subscription(
        id=subscription_id,
        collection=inputs.collection,
        declaration=inputs.run,
        job=(inputs.adopt or "").rpartition("/")[2],
        notifications=inputs.notifications,
    )
    try:
        subscriptions.write(_data_dir(), one)
        subscriptions.remove_others(_data_dir(), one)
    except DataFolderError as error:
        raise Failure(str(error)) from None
    except OSError as error:
        raise _unusable("written", error) from error
    return subscription_id


def _data_dir() -> Path:
    return launcher.data_dir_of(OPERATION.settings.data_dir)


def _unusable(done: str, error: OSError) -> Failure:
    return Failure(
        f"the notifications in {_data_dir()} cannot be {done}: {error.strerror or type(error).__name__}. Run "
        "`vertex-training doctor`."
    )
