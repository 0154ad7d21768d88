"""The real provider process, `python -m pulumi.dynamic`, driven over gRPC as the engine drives it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import grpc
from google.protobuf import empty_pb2
from pulumi.dynamic import ResourceProvider
from pulumi.dynamic.dynamic import serialize_provider
from pulumi.runtime import rpc
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from support.warm import warm_python

UNKNOWN = rpc.UNKNOWN
_PYTHON = Path(sys.executable)


def started(
    module: str, engine: str, *, folder: Path | None = None, python: Path = _PYTHON
) -> tuple[subprocess.Popen[str], grpc.Channel]:
    """Start a module that serves providers. Return its process and a channel to the port that it prints."""
    process = subprocess.Popen(
        [str(python), "-u", "-m", module, engine],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    return process, grpc.insecure_channel(f"127.0.0.1:{int(process.stdout.readline())}")


class PluginProcess:
    """A provider process. Properties are plain values; numbers come back as floats.

    Its requests have no URN, so a resource is known by its kind and names. It is a fork of the warm
    interpreter, unless it `is_cold`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        config: Mapping[str, str] | None = None,
        engine: str = "no-engine",
        is_cold: bool = False,
    ) -> None:
        python = _PYTHON if is_cold else warm_python.shared()
        self._process, self._channel = started("pulumi.dynamic", engine, folder=folder, python=python)
        self.stub = provider_pb2_grpc.ResourceProviderStub(self._channel)
        args = _struct(dict(config or {}))
        self.stub.Configure(provider_pb2.ConfigureRequest(args=args))

    def __enter__(self) -> PluginProcess:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        return self._process.pid

    def stop(self) -> str:
        """End the process. Return its output."""
        self._channel.close()
        self._process.terminate()
        output, _ = self._process.communicate(timeout=30)
        return output

    def check(
        self, provider: ResourceProvider, news: Mapping[str, Any], olds: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the checked inputs, and the failures by path. `olds` are the inputs in the state."""
        answer = self.stub.Check(
            provider_pb2.CheckRequest(olds=_struct(dict(olds or {})), news=serialized(provider, news))
        )
        return _plain(answer.inputs), dict(_path_and_message(failure) for failure in answer.failures)

    def diff(
        self, provider: ResourceProvider, olds: Mapping[str, Any], news: Mapping[str, Any]
    ) -> tuple[bool, list[str]]:
        """Return whether there is a change, and the properties that require a replacement."""
        answer = self.stub.Diff(
            provider_pb2.DiffRequest(
                id="id", olds=serialized(provider, olds), news=serialized(provider, news)
            )
        )
        return answer.changes == provider_pb2.DiffResponse.DIFF_SOME, list(answer.replaces)

    def create(
        self, provider: ResourceProvider, props: Mapping[str, Any], *, timeout: float = 0.0
    ) -> tuple[str, dict[str, Any]]:
        answer = self.stub.Create(
            provider_pb2.CreateRequest(properties=serialized(provider, props), timeout=timeout)
        )
        return answer.id, _plain(answer.properties)

    def update(
        self,
        provider: ResourceProvider,
        id_: str,
        olds: Mapping[str, Any],
        news: Mapping[str, Any],
        *,
        timeout: float = 0.0,
    ) -> dict[str, Any]:
        answer = self.stub.Update(
            provider_pb2.UpdateRequest(
                id=id_,
                olds=serialized(provider, olds),
                news=serialized(provider, news),
                timeout=timeout,
            )
        )
        return _plain(answer.properties)

    def read(
        self, provider: ResourceProvider, id_: str, props: Mapping[str, Any]
    ) -> tuple[str, dict[str, Any], dict[str, Any]]:
        """Return the id ("" if the resource is gone), the outputs and the inputs."""
        answer = self.stub.Read(provider_pb2.ReadRequest(id=id_, properties=serialized(provider, props)))
        return answer.id, _plain(answer.properties), _plain(answer.inputs)

    def cancel(self) -> None:
        """Send the request that the engine sends after Ctrl-C."""
        self.stub.Cancel(empty_pb2.Empty())

    def delete(
        self, provider: ResourceProvider, id_: str, props: Mapping[str, Any], *, timeout: float = 0.0
    ) -> None:
        self.stub.Delete(
            provider_pb2.DeleteRequest(id=id_, properties=serialized(provider, props), timeout=timeout)
        )


def serialized(provider: ResourceProvider, props: Mapping[str, Any]) -> Any:
    """Return properties as the engine sends them: with the pickled provider."""
    return _struct({**props, "__provider": serialize_provider(provider)})


def _struct(props: dict[str, Any]) -> Any:
    return asyncio.run(rpc.serialize_properties(props, {}))


def _plain(struct: Any) -> dict[str, Any]:
    found: dict[str, Any] = rpc.deserialize_properties(struct, True)
    return {name: value for name, value in found.items() if name != "__provider"}


def _path_and_message(failure: Any) -> tuple[str, str]:
    """Return the path and message of a failure.

    The failure names no property, because the engine would print the property's value.
    """
    assert failure.property == ""
    path, _, message = failure.reason.partition(": ")
    return path, message
