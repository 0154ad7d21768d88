"""A job of one stack, deployed by the engine of `support.in_process.small_engine` to a real emulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from support.in_process.small_engine import Declared, SmallEngine
from support.kills.subjects import PARENT, Subject, has_ended, state_of
from vertex_emulator.control import Control


@dataclass
class RunTrial:
    """A stack with one job of its own name, deployed by the engine in the test's process."""

    subject: Subject
    declares: Callable[..., list[Declared]]
    endpoint: Endpoint
    engine: SmallEngine
    name: str

    def up(self, spec: str, *, replace: bool = False, **options: Any) -> int:
        return self.engine.up(self.program(spec, **options), replace=[self.name] if replace else [])

    def program(self, spec: str, **options: Any) -> list[Declared]:
        return self.declares(self.name, spec, **options)

    @property
    def control(self) -> Control:
        return Control(url=self.endpoint.url or "", token=self.endpoint.token or "")

    def forget_requests(self) -> None:
        """Count submissions from now on."""
        self.control.forget_requests()

    def submissions(self) -> int:
        """Return the number of submissions by any stack since `forget_requests`."""
        sent = self.control.requests()["requests"]
        return len([one for one in sent if one["call"] == self.subject.creates and one["status"] == 200])

    def there(self) -> list[dict[str, Any]]:
        """Return the service's records of this stack, by the name that all of them have."""
        collection = self.subject.collection
        found = self.control.call("GET", f"{PARENT}/{collection}").get(collection, [])
        return [one for one in found if one["displayName"] == self.name]

    def recorded(self) -> list[str]:
        return [one.id for one in self.engine.entries if one.name == self.name]

    def live(self) -> list[str]:
        return [one["name"] for one in self.there() if not has_ended(one)]

    def run(self) -> Mapping[str, Any]:
        (found,) = [dict(one.outs) for one in self.engine.entries if one.name == f"run of {self.name}"]
        return found

    def state(self) -> str:
        """Return the state of the newest job."""
        return state_of(max(self.there(), key=lambda one: str(one["createTime"])))

    def assert_one(self, spec: str) -> None:
        """Assert that one live job exists, as declared, and that the state has it.

        The records of jobs that were replaced are kept.
        """
        (one,) = [each for each in self.there() if not has_ended(each)]
        assert [one["name"]] == self.recorded()
        assert one["labels"]["vertex-training-run"] == self.run()["key"]
        assert f"'value': '{spec}'" in str(one)

    def assert_nothing(self) -> None:
        assert (self.there(), self.engine.entries) == ([], [])
