"""Run a Pulumi program in the test's process: its real resource classes register with the small engine."""

from __future__ import annotations

import asyncio
import base64
import contextvars
import functools
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import dill
import pulumi
from google.protobuf import struct_pb2
from pulumi.runtime import config, mocks, rpc
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.settings import SETTINGS
from pulumi.runtime.stack import run_pulumi_func

import pulumi_vertex_training as vt

if TYPE_CHECKING:
    from support.client.in_process.small_engine import Declared

PROJECT, STACK = "engine-test", "test"
_PROVIDER = "__provider"
Register = Callable[["Declared"], tuple[str, Mapping[str, Any]]]
"""A function that deploys a resource, and returns its id and its outputs."""


class _Monitor(mocks.MockMonitor):
    """Pulumi's resource monitor. After the first failure it registers nothing more, unless it goes on."""

    def __init__(self, register: Register, *, goes_on: bool) -> None:
        super().__init__(None)  # type: ignore[arg-type]  # no mocks: it answers itself
        self._register, self._lock, self._goes_on = register, threading.Lock(), goes_on
        self.failure: BaseException | None = None

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802  a method of the service
        from support.client.in_process.small_engine import Declared

        urn = self.make_urn(request.parent, request.type, request.name)
        if not request.custom:
            return resource_pb2.RegisterResourceResponse(urn=urn)
        inputs = rpc.deserialize_properties(request.object)
        provider = dill.loads(base64.b64decode(inputs.pop(_PROVIDER)))
        declared = Declared(
            name=request.name,
            provider=provider,
            inputs=inputs,
            delete_before_replace=request.deleteBeforeReplace,
        )
        with self._lock:
            failed = self.failure is not None and not self._goes_on
            if not failed:
                try:
                    id_, outs = self._register(declared)
                except BaseException as error:
                    self.failure, failed = error, True
            if failed:
                raise RuntimeError("the deployment has ended") from None
        made = struct_pb2.Struct()
        made.update(outs)
        return resource_pb2.RegisterResourceResponse(urn=urn, id=id_, object=made)


@functools.cache
def _compiled(program: str) -> Any:
    return compile(program, "program", "exec")


def run(program: str, configured: Mapping[str, str], register: Register, *, goes_on: bool = False) -> None:
    """Run the program. Raise what the registration that failed has raised, the last one if it goes on.

    Pulumi keeps the settings of a program in context variables, so later tests see none of them. It sends the
    whole stack of calls with each resource, so the program has a thread, whose stack has nothing of pytest.
    """
    failures: list[BaseException] = []

    def guarded() -> None:
        try:
            _run(program, configured, register, goes_on=goes_on)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=[guarded], name="program")
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


def _run(program: str, configured: Mapping[str, str], register: Register, *, goes_on: bool) -> None:
    monitor = _Monitor(register, goes_on=goes_on)
    config.set_all_config(dict(configured), [])
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.set_exception_handler(lambda *_: None)  # of resources that wait for the one that failed
    names = {"vt": vt, "pulumi": pulumi, "__name__": "__main__"}
    try:
        mocks.set_mocks(None, project=PROJECT, stack=STACK, preview=False, monitor=monitor)  # type: ignore[arg-type]
        SETTINGS.rpc_manager.clear()
        SETTINGS.outputs.clear()
        loop.run_until_complete(run_pulumi_func(lambda: exec(_compiled(program), names)))
    except Exception:
        if monitor.failure is None:
            raise
    finally:
        asyncio.set_event_loop(None)
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
    if monitor.failure is not None:
        raise monitor.failure
