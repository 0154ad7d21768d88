"""The plugin of the package in a process of its own, driven over gRPC as the engine drives it."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent import futures
from types import TracebackType
from typing import Any

import grpc
from google.protobuf import any_pb2, empty_pb2
from google.rpc import status_pb2
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc, provider_pb2, provider_pb2_grpc

from pulumi_vertex_training.package.wire import properties
from support.client.plugin import started
from support.warm import warm_python

JOB = "vertex-training:index:CustomJob"
BUCKET = "vertex-training:index:StagingBucket"
SEED = b"0123456789abcdef0123456789abcdef"
STACK_KEY = "5eed5eed5eed5eed"


def urn_of(token: str, name: str) -> str:
    return f"urn:pulumi:dev::digits::{token}::{name}"


class InitFailed(Exception):  # noqa: N818  as the engine calls it
    """The engine keeps the resource, whose id and outputs are here, and the deployment fails."""

    def __init__(self, found: provider_pb2.ErrorResourceInitFailed) -> None:
        super().__init__("\n".join(found.reasons))
        self.id, self.outputs = found.id, properties.read(found.properties).values


class _Log(engine_pb2_grpc.EngineServicer):
    """The log of an engine: URN, severity and text of each line."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def Log(self, request: Any, _context: grpc.ServicerContext) -> empty_pb2.Empty:  # noqa: N802
        warning = "warning: " if request.severity == engine_pb2.WARNING else ""
        self.lines.append((request.urn.rpartition("::")[2], f"{warning}{request.message}"))
        return empty_pb2.Empty()


class PackageProcess:
    """A plugin, a fork of the warm interpreter, and the log of its engine. Properties are plain values."""

    def __init__(self, config: Mapping[str, str]) -> None:
        self._log = _Log()
        self._engine = grpc.server(futures.ThreadPoolExecutor(4))
        engine_pb2_grpc.add_EngineServicer_to_server(self._log, self._engine)
        address = f"127.0.0.1:{self._engine.add_insecure_port('127.0.0.1:0')}"
        self._engine.start()
        python = warm_python.for_plugins()
        self._process, self._channel = started("pulumi_vertex_training.package", address, python=python)
        self.stub = provider_pb2_grpc.ResourceProviderStub(self._channel)
        args = properties.write({**config, "stackKey": STACK_KEY})
        self.configured = self.stub.Configure(provider_pb2.ConfigureRequest(args=args))

    def __enter__(self) -> PackageProcess:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._channel.close()
        self._process.terminate()
        self._process.communicate(timeout=30)
        self._engine.stop(None)

    @property
    def lines(self) -> list[tuple[str, str]]:
        """The lines that the engine got: the name of the resource, and the text."""
        return list(self._log.lines)

    def check(
        self,
        token: str,
        name: str,
        news: Mapping[str, Any],
        olds: Mapping[str, Any] | None = None,
        *,
        secrets: frozenset[str] = frozenset(),
    ) -> tuple[properties.Properties, list[str]]:
        """Return the checked inputs, and the reasons to refuse them."""
        answer = self.stub.Check(
            provider_pb2.CheckRequest(
                urn=urn_of(token, name),
                olds=properties.write(olds or {}),
                news=properties.write(news, secrets),
                randomSeed=SEED,
            )
        )
        return properties.read(answer.inputs), [failure.reason for failure in answer.failures]

    def diff(
        self, token: str, name: str, outputs: Mapping[str, Any], news: Mapping[str, Any], *, id_: str = ""
    ) -> tuple[str, dict[str, str]]:
        """Return NONE or SOME, and the kinds of the changes by their paths. A job's name is its id."""
        answer = self.stub.Diff(
            provider_pb2.DiffRequest(
                id=id_ or str(outputs["name"]),
                urn=urn_of(token, name),
                olds=properties.write(outputs),
                news=properties.write(news),
            )
        )
        kinds, changes = provider_pb2.PropertyDiff.Kind, provider_pb2.DiffResponse.DiffChanges
        found = {path: kinds.Name(one.kind) for path, one in answer.detailedDiff.items()}
        assert answer.hasDetailedDiff == bool(found)
        return changes.Name(answer.changes).removeprefix("DIFF_"), found

    def create(
        self, token: str, name: str, props: properties.Properties, *, preview: bool = False
    ) -> tuple[str, properties.Properties]:
        request = provider_pb2.CreateRequest(
            urn=urn_of(token, name),
            properties=properties.write(props.values, props.secrets),
            preview=preview,
        )
        answer = _or_init_failed(self.stub.Create, request)
        return answer.id, properties.read(answer.properties)

    def update(
        self,
        token: str,
        name: str,
        olds: Mapping[str, Any],
        news: Mapping[str, Any],
        *,
        id_: str,
        preview: bool = False,
    ) -> dict[str, Any]:
        request = provider_pb2.UpdateRequest(
            id=id_,
            urn=urn_of(token, name),
            olds=properties.write(olds),
            news=properties.write(news),
            preview=preview,
        )
        return properties.read(_or_init_failed(self.stub.Update, request).properties).values

    def read(
        self,
        token: str,
        name: str,
        id_: str,
        props: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
    ) -> tuple[str, dict[str, Any], dict[str, Any]]:
        """Return the id ("" if the resource is gone), the outputs and the inputs."""
        request = provider_pb2.ReadRequest(
            id=id_,
            urn=urn_of(token, name),
            properties=properties.write(props or {}),
            inputs=properties.write(inputs or {}),
        )
        answer = _or_init_failed(self.stub.Read, request)
        return answer.id, properties.read(answer.properties).values, properties.read(answer.inputs).values

    def delete(self, token: str, name: str, id_: str, props: Mapping[str, Any]) -> None:
        self.stub.Delete(
            provider_pb2.DeleteRequest(id=id_, urn=urn_of(token, name), properties=properties.write(props))
        )

    def invoke(
        self, function: str, args: Mapping[str, Any], *, secrets: frozenset[str] = frozenset()
    ) -> tuple[dict[str, Any], list[str]]:
        """Return the result of a function, and the mistakes in its arguments."""
        token = f"vertex-training:index:{function}"
        request = provider_pb2.InvokeRequest(tok=token, args=properties.write(args, secrets))
        answer = self.stub.Invoke(request)
        result = properties.read(getattr(answer, "return")).values
        return result, [failure.reason for failure in answer.failures]

    def cancel(self) -> None:
        """Send the request that the engine sends after Ctrl-C."""
        self.stub.Cancel(empty_pb2.Empty())


def _or_init_failed(method: Any, request: Any) -> Any:
    """Return the answer. Raises InitFailed by the details of an error, as the engine reads them."""
    try:
        return method(request)
    except grpc.RpcError as error:
        for key, value in error.trailing_metadata():
            if key == "grpc-status-details-bin":
                status = status_pb2.Status.FromString(value)
                found = provider_pb2.ErrorResourceInitFailed()
                assert any_pb2.Any.Unpack(status.details[0], found)
                raise InitFailed(found) from None
        raise
