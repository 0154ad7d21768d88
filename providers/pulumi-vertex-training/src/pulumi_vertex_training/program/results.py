"""The types of `job.completion`: an output whose keys are known to editors and type checkers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, overload

import pulumi

from vertex_training.findings.words import all_of, nearest, visible_lines

T = TypeVar("T")

Text = Literal["state", "job"]
"""Keys of `completion` whose value is always a string."""
OptionalText = Literal["error", "start_time", "end_time", "model_directory"]
"""Keys of `completion` whose value may be None."""


class UnknownKeyError(pulumi.RunError, AttributeError):
    """A program asks for a result that does not exist. Pulumi prints the message without a traceback."""


class RunMetrics(dict[str, Any]):
    """Contents of metrics.json, with the resource that they belong to.

    A missing key is an error that names the resource, unless the run has no metrics at all (yet): then every
    key is None, so that a program can export a metric in any case.
    """

    def __init__(self, metrics: Mapping[str, Any], *, resource: pulumi.Resource | None, label: str) -> None:
        super().__init__(metrics)
        self._resource = resource
        self._label = label

    def __missing__(self, name: object) -> None:
        if not self:
            return
        what = f"completion.metrics[{name!r}] does not exist; {_hint(str(name), self)}"
        message = visible_lines(f"{what}. The job is not affected: correct the program")
        pulumi.log.error(message, self._resource)
        raise UnknownKeyError(f"{self._label}: {message}")


class _Named(pulumi.Output[T], ABC):
    """An output that shares the value of another one. An attribute that is not declared is an error.

    `Output` itself accepts any attribute, and fails only when its value is known.
    """

    if TYPE_CHECKING:
        __getattr__: None  # type: ignore[assignment, misc]
    else:

        def __getattr__(self, name: str) -> None:
            if name.startswith("_"):
                raise AttributeError(name)
            raise UnknownKeyError(self._missing_attribute(name))

    def __init__(self, output: pulumi.Output[T], *, label: str) -> None:
        vars(self).update(vars(output))
        self._label = label

    @abstractmethod
    def _missing_attribute(self, name: str) -> str:
        """Return the message about an attribute that does not exist."""


class Metrics(_Named[dict[str, Any]]):
    """Metrics that a run wrote to metrics.json in its model directory, as an output.

    `metrics["accuracy"]` is an output of one metric. It is None while the run has no metrics. If it has some,
    a key that is not there fails the deployment with the keys that are.
    """

    def __getitem__(self, key: str) -> pulumi.Output[Any]:
        return super().__getitem__(key)

    def _missing_attribute(self, name: str) -> str:
        return (
            f"{self._label}: completion.metrics has no attribute {name!r}; "
            f'for a metric, write completion.metrics["{name}"]'
        )


class Completion(_Named[dict[str, Any]]):
    """Result of a run, as an output of a dictionary.

    Each key is an attribute, too: `completion.state` is the same output as `completion["state"]`.
    """

    KEYS: ClassVar[tuple[str, ...]] = (
        "state",
        "job",
        "error",
        "start_time",
        "end_time",
        "model_directory",
        "metrics",
    )

    @property
    def state(self) -> pulumi.Output[str]:
        """State of the job after the wait, such as `SUCCEEDED` or `RUNNING`."""
        return self["state"]

    @property
    def job(self) -> pulumi.Output[str]:
        """Id of the job."""
        return self["job"]

    @property
    def error(self) -> pulumi.Output[str | None]:
        """Error message of the service, None without an error."""
        return self["error"]

    @property
    def start_time(self) -> pulumi.Output[str | None]:
        """Time when the job started to run (RFC 3339), None before that."""
        return self["start_time"]

    @property
    def end_time(self) -> pulumi.Output[str | None]:
        """Time when the job ended (RFC 3339), None before that."""
        return self["end_time"]

    @property
    def model_directory(self) -> pulumi.Output[str | None]:
        """gs:// directory of the model, None unless the job succeeded."""
        return self["model_directory"]

    @property
    def metrics(self) -> Metrics:
        """Contents of metrics.json in the model directory."""
        return self["metrics"]

    @overload
    def __getitem__(self, key: Text) -> pulumi.Output[str]: ...
    @overload
    def __getitem__(self, key: OptionalText) -> pulumi.Output[str | None]: ...
    @overload
    def __getitem__(self, key: Literal["metrics"]) -> Metrics: ...
    def __getitem__(self, key: str) -> pulumi.Output[Any]:
        return self._lifted(key)

    def _lifted(self, key: str) -> pulumi.Output[Any]:
        """Return the output of one key. Raises `pulumi.RunError` for an unknown one."""
        if key not in self.KEYS:
            raise UnknownKeyError(
                f"{self._label}: completion[{key!r}] does not exist; {_hint(key, self.KEYS)}"
            )
        found = super().__getitem__(key)
        return Metrics(found, label=self._label) if key == "metrics" else found

    def _missing_attribute(self, name: str) -> str:
        return f"{self._label}: completion.{name} does not exist; {_hint(name, self.KEYS)}"


def _hint(name: str, known: Collection[str]) -> str:
    """Return the end of a message about an unknown key."""
    keys, similar = all_of(sorted(known)), nearest(name, known)
    return f"{similar} The keys are {keys}" if similar else f"the keys are {keys}"
