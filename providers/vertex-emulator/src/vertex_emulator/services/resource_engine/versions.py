"""Creation and update times of resources, and the etags that protect their updates."""

from __future__ import annotations

from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError


class Stamps:
    """Sets the times and the etag of messages by the emulator's clock.

    An etag is the time of the last update in milliseconds, as the service's are. It grows with each update,
    also while the clock is frozen. Without `etags`, resources have none.
    """

    def __init__(self, clock: Clock, *, etags: bool = True) -> None:
        self._clock = clock
        self._etags = etags

    def begin(self, message: DynamicMessage) -> None:
        """Set the times of a new resource, and its etag, if the kind has these fields."""
        self.touch(message)
        fields = message.DESCRIPTOR.fields_by_name
        if "update_time" in fields:
            message.create_time.CopyFrom(message.update_time)
        elif "create_time" in fields:
            message.create_time.FromJsonString(times.now(self._clock))

    def touch(self, message: DynamicMessage) -> None:
        """Set the time of an update, and a new etag, if the kind has these fields."""
        fields = message.DESCRIPTOR.fields_by_name
        if "update_time" in fields:
            message.update_time.FromJsonString(times.now(self._clock))
        if self._etags and "etag" in fields:
            last = int(message.etag) if message.etag.isdigit() else 0
            message.etag = str(max(last + 1, self._clock.microseconds() // 1000))

    def check(self, message: DynamicMessage, etag: str, noun: str, *, code: str = "ABORTED") -> None:
        """Raise ABORTED, in the service's words, for an etag other than that of the resource."""
        if self._etags and etag and etag != message.etag:
            raise RpcError(
                code, f"Specified {noun} `etag`: `{etag}` does not match server `etag`: `{message.etag}`"
            )
