"""Typed arguments of a `TrainingSchedule`. Written by `make generate` from the messages: do not edit."""

from __future__ import annotations

from pulumi import Input

from pulumi_vertex_training.program.arguments.arguments_class import arguments_class


@arguments_class
class RetryConfigArgs:
    """Attempts after a failed call.

    :param retry_count: Number of attempts after the first one failed, up to 5. A call whose answer was lost
        may have submitted a run, so a retry can start a second one.
    :param max_retry_duration: Longest time for all attempts, such as "600s". 0s is no limit.
    :param min_backoff_duration: Shortest time between two attempts.
    :param max_backoff_duration: Longest time between two attempts.
    :param max_doublings: How often the time between two attempts doubles.
    """

    retry_count: Input[int | None] = None
    """Number of attempts after the first one failed, up to 5. A call whose answer was lost may have submitted
    a run, so a retry can start a second one.
    """
    max_retry_duration: Input[str | None] = None
    """Longest time for all attempts, such as "600s". 0s is no limit."""
    min_backoff_duration: Input[str | None] = None
    """Shortest time between two attempts."""
    max_backoff_duration: Input[str | None] = None
    """Longest time between two attempts."""
    max_doublings: Input[int | None] = None
    """How often the time between two attempts doubles."""
