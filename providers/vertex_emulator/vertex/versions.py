"""Creation and update times of resources, and the etags that protect their updates."""

from __future__ import annotations

from typing import Any

from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.rpc.methods import RpcError


class Stamps:
    """Sets the times and the etag of messages by the emulator's clock.

    An etag is the time of the last update in milliseconds, as the service's are. It grows with each update,
    also while the clock is frozen.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def begin(self, message: Any) -> None:
        """Set the times of a new resource."""
        message.etag = ""
        self.touch(message)
        message.create_time.CopyFrom(message.update_time)

    def touch(self, message: Any) -> None:
        """Set the time of an update, and a new etag."""
        message.update_time.FromJsonString(times.now(self._clock))
        last = int(message.etag) if message.etag.isdigit() else 0
        message.etag = str(max(last + 1, self._clock.microseconds() // 1000))

    def check(self, message: Any, etag: str, noun: str, *, code: str = "ABORTED") -> None:
        """Raise ABORTED, in the service's words, for an etag other than that of the resource."""
        if etag and etag != message.etag:
            raise RpcError(
                code, f"Specified {noun} `etag`: `{etag}` does not match server `etag`: `{message.etag}`"
            )
