"""The rules of tensorboards, experiments, runs and time series. Each function raises INVALID_ARGUMENT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vertex_emulator.rpc.methods import Violation, invalid_fields
from vertex_emulator.vertex import names

OUTPUT = ("name", "create_time", "update_time", "etag")
"""The fields of a resource that the service sets."""

TENSORBOARD_OUTPUT = (
    *OUTPUT,
    "blob_storage_path_prefix",
    "run_count",
    "satisfies_pzs",
    "satisfies_pzi",
)
TIME_SERIES_OUTPUT = (*OUTPUT, "metadata")
_SYSTEM = "aiplatform.googleapis.com/"
_MAX_PLUGIN_DATA = 65 * 1024
_MAX_BATCH = 1000


def check_batch(requests: Sequence[Any]) -> None:
    """Check the number of requests in a batch."""
    if not 0 < len(requests) <= _MAX_BATCH:
        raise invalid_fields([Violation("requests", f"A batch has 1 to {_MAX_BATCH} requests.")])


def check_tensorboard(tensorboard: Any) -> None:
    """Check a tensorboard."""
    _check(_required(tensorboard, "tensorboard"), _labels(tensorboard, "tensorboard"))


def check_experiment(experiment: Any) -> None:
    """Check an experiment."""
    _check(_labels(experiment, "tensorboard_experiment"))


def check_run(run: Any) -> None:
    """Check a run."""
    _check(_required(run, "tensorboard_run"), _labels(run, "tensorboard_run"))


def check_time_series(series: Any) -> None:
    """Check a time series."""
    _check(_required(series, "tensorboard_time_series"), _series(series))


def _check(*found: Iterator[Violation]) -> None:
    violations = [violation for each in found for violation in each]
    if violations:
        raise invalid_fields(violations)


def _required(message: Any, path: str) -> Iterator[Violation]:
    if not message.display_name:
        yield Violation(f"{path}.display_name", "Required field is not set.")


def _labels(message: Any, path: str) -> Iterator[Violation]:
    own = {key: value for key, value in message.labels.items() if not key.startswith(_SYSTEM)}
    yield from names.label_problems(own, f"{path}.labels")


def _series(series: Any) -> Iterator[Violation]:
    if not series.value_type:
        yield Violation("tensorboard_time_series.value_type", "Required field is not set.")
    if len(series.plugin_data) > _MAX_PLUGIN_DATA:
        yield Violation("tensorboard_time_series.plugin_data", "The size is limited to 65KB.")
