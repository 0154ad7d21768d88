"""The names and addresses of a job's machines, as the service writes them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

PORT = 2222
"""The port of every replica on Vertex AI, and on AI Platform before it."""

Addresses = Sequence[Sequence[str]]
"""`host:port` of every replica: one list for each pool, empty for a skipped pool."""


def host_name(job_id: str, pool: int, index: int) -> str:
    """The name of a replica's machine, as the service writes it: cmle-training-workerpool0-<10 digits>-0."""
    return machine_name(f"workerpool{pool}", job_digits(job_id), index)


def machine_name(kind: str, digits: str, index: int) -> str:
    """The name of one machine; `digits` are `job_digits`, the same for all machines of a job."""
    return f"cmle-training-{kind}-{digits}-{index}"


def job_digits(job_id: str, count: int = 10) -> str:
    """Hexadecimal digits that stand for a job; the service's own are random."""
    return hashlib.sha256(job_id.encode()).hexdigest()[:count]


def service_addresses(kinds: Sequence[str], counts: Sequence[int], job_id: str) -> list[list[str]]:
    """The addresses that the service gives to `counts` machines of each kind."""
    digits = job_digits(job_id)
    return [
        [f"{machine_name(kind, digits, index)}:{PORT}" for index in range(count)]
        for kind, count in zip(kinds, counts, strict=True)
    ]


def check_addresses(addresses: Addresses, counts: Sequence[int], *, of: str) -> None:
    """Raises ValueError unless there is one address for each replica; `of` says what has the replicas."""
    given = [len(each) for each in addresses]
    if given != list(counts):
        raise ValueError(
            f"{of} have {list(counts)} replicas, but there are {given} addresses; give one per replica"
        )
