"""Start the operations on a persistent resource: creation, update, reboot and deletion.

Each function waits until the service accepts the operation, but not until the operation ends.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import AlreadyExists, FailedPrecondition, NotFound, Unavailable
from pulumi_vertex_training.core.engine import print_line
from pulumi_vertex_training.core.provider import Failure
from pulumi_vertex_training.core.waiting import InterruptedWaitError, wait
from pulumi_vertex_training.kinds.persistent_resource import gateway
from pulumi_vertex_training.kinds.persistent_resource.gateway import ResourceState
from pulumi_vertex_training.kinds.persistent_resource.spec import PersistentResource, full_name, patch

_BUSY = (ResourceState.PROVISIONING, ResourceState.UPDATING, ResourceState.REBOOTING)


def create(endpoint: Endpoint, resource_id: str, wire: Mapping[str, Any], *, timeout: float | None) -> None:
    """Start the creation. If a resource with this id is being deleted, wait until it is gone.

    Raises `CloudError`; `Failure` if the deletion does not end in time, and after Ctrl-C.
    """
    name = full_name(endpoint.project, endpoint.location, resource_id)
    try:
        gateway.create(endpoint, resource_id, wire)
    except AlreadyExists:
        try:
            stopping = gateway.get(endpoint, name).state is ResourceState.STOPPING
        except NotFound:
            stopping = True
        if not stopping:
            raise
        _wait_for_previous_deletion(endpoint, name, timeout)
        gateway.create(endpoint, resource_id, wire)


def update(
    endpoint: Endpoint,
    name: str,
    old: PersistentResource,
    new: PersistentResource,
    *,
    ownership_labels: Mapping[str, str],
    timeout: float | None,
) -> None:
    """Start the update from `old` to `new`, if they differ. Raises the errors of `reboot`."""
    mask = patch(old, new, ownership_labels=ownership_labels).mask
    if not mask:
        return

    def begin() -> None:
        live = gateway.get(endpoint, name).wire if "resource_pools.replica_count" in mask else None
        change = patch(old, new, live=live, ownership_labels=ownership_labels)
        _call_that_may_be_lost(
            lambda: gateway.patch(endpoint, name, change.body, mask=change.mask),
            has_begun=lambda: gateway.get(endpoint, name).state is ResourceState.UPDATING,
        )

    _begin_when_idle(endpoint, name, begin, timeout=timeout)


def reboot(endpoint: Endpoint, name: str, *, timeout: float | None) -> None:
    """Start a reboot when no other operation runs on the resource.

    Raises `CloudError`, such as `FailedPrecondition` if another operation does not end in time, and `Failure`
    after Ctrl-C.
    """

    def begin() -> None:
        _call_that_may_be_lost(
            lambda: gateway.reboot(endpoint, name),
            has_begun=lambda: gateway.get(endpoint, name).state is ResourceState.REBOOTING,
        )

    _begin_when_idle(endpoint, name, begin, timeout=timeout)


def begin_deletion(endpoint: Endpoint, name: str, *, timeout: float | None = None) -> None:
    """Start the deletion; if the resource reboots, wait until it has. Raises the errors of `reboot`."""

    def begin() -> None:
        try:
            gateway.delete(endpoint, name)
        except FailedPrecondition:
            # The call is repeated if its answer is lost, and refused if the deletion has begun.
            if gateway.get(endpoint, name).state is not ResourceState.STOPPING:
                raise

    _begin_when_idle(endpoint, name, begin, busy=(ResourceState.REBOOTING,), timeout=timeout)


def wait_for_deletion(endpoint: Endpoint, name: str, *, timeout: float | None = None) -> bool:
    """Wait for the end of a deletion, and return whether it ended in time, within a minute by default.

    Raises `InterruptedWaitError` after Ctrl-C.
    """
    title = _title(name)
    return _is_gone_within(
        endpoint,
        name,
        endpoint.timeouts.resource_deletion if timeout is None else timeout,
        progress=lambda passed: f"{title}: still being deleted after {passed:.0f} s",
    )


def _wait_for_previous_deletion(endpoint: Endpoint, name: str, timeout: float | None) -> None:
    seconds = endpoint.timeouts.previous_deletion if timeout is None else timeout
    title = _title(name)
    print_line(f"{title}: waiting up to {seconds:g} s until the previous one is deleted")
    try:
        gone = _is_gone_within(
            endpoint,
            name,
            seconds,
            progress=lambda passed: f"{title}: the previous one is still being deleted after {passed:.0f} s",
        )
    except InterruptedWaitError:
        raise Failure(
            f"{title}: interrupted while the previous one is being deleted. Nothing was created. Run "
            "`pulumi up` again: it waits for the end of the deletion."
        ) from None
    if not gone:
        raise Failure(
            f"{title}: the previous one is still being deleted after {seconds:g} s. Nothing was created. "
            "Run `pulumi up` again when it is gone, or choose another persistent_resource_id. To wait "
            "longer, set "
            'opts=pulumi.ResourceOptions(custom_timeouts=pulumi.CustomTimeouts(create="20m")).'
        )


def _call_that_may_be_lost(call: Callable[[], object], *, has_begun: Callable[[], bool]) -> None:
    """Make a call that starts an operation; if its answer is lost, make it again unless it has begun.

    The calls are not repeated blindly: while the operation runs, the service refuses a second one.
    """
    try:
        call()
    except Unavailable:
        if not has_begun():
            call()


def _begin_when_idle(
    endpoint: Endpoint,
    name: str,
    begin: Callable[[], object],
    *,
    busy: Collection[ResourceState] = _BUSY,
    timeout: float | None,
) -> None:
    refusals: list[FailedPrecondition] = []
    was_busy = True

    def begun() -> bool:
        nonlocal was_busy
        try:
            begin()
        except FailedPrecondition as error:
            is_busy = gateway.get(endpoint, name).state in busy
            # The operation that caused the refusal may have ended since.
            if not (is_busy or was_busy):
                raise
            was_busy = is_busy
            refusals.append(error)
            return False
        return True

    title = _title(name)
    try:
        done = wait(
            begun,
            seconds=endpoint.timeouts.resource_busy if timeout is None else timeout,
            pause=_pause(endpoint),
            progress=lambda passed: f"{title}: another operation is still running after {passed:.0f} s",
        )
    except InterruptedWaitError:
        raise Failure(
            f"{title}: interrupted while another operation is running. Nothing was changed. Run `pulumi "
            "up` again."
        ) from None
    if not done:
        raise refusals[-1]


def _is_gone_within(
    endpoint: Endpoint, name: str, seconds: float, *, progress: Callable[[float], str]
) -> bool:
    def is_gone() -> bool:
        try:
            gateway.get(endpoint, name)
        except NotFound:
            return True
        return False

    return wait(is_gone, seconds=seconds, pause=_pause(endpoint), progress=progress)


def _pause(endpoint: Endpoint) -> float:
    return 0.1 if endpoint.is_emulator else 5.0


def _title(name: str) -> str:
    return f"persistent resource {name.rpartition('/')[2]}"
