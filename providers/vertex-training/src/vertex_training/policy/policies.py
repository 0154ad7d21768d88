"""The policies: what each of them refuses, and why.

A check yields a `Problem` for each violation. Its path leads to the field, so that
`findings.problems.known` drops what rests on a value that is not known yet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any

from vertex_training.cost.prices import PriceTable
from vertex_training.fields.durations import normal
from vertex_training.fields.schema import child
from vertex_training.findings.problems import Problem
from vertex_training.findings.words import counted, one_of, short_image, shown
from vertex_training.job.job_spec import normal_scheduling
from vertex_training.policy import settings
from vertex_training.policy.cost import over_limit, seconds_allowed
from vertex_training.policy.subject import (
    Bucket,
    Encrypted,
    Job,
    Labelled,
    Machines,
    Repository,
    Schedule,
    Subject,
)
from vertex_training.topology.slices import accelerators_of

Prices = Callable[[], PriceTable]
"""Return the price table; called only for a limit of the cost, as the table is large."""

Check = Callable[[Subject, Any, Prices], Iterator[Problem]]


@dataclass(frozen=True, kw_only=True)
class Policy:
    """One policy: its name, its rule in a sentence, its settings and its check."""

    name: str
    says: str
    settings: type[settings.Scope]
    check: Check


_LITERAL = re.compile(r"[?\[]")
"""Characters that `fnmatch` interprets and policies do not: a resource may be named train[0]."""


def matches(text: str, patterns: Collection[str]) -> bool:
    """Return whether a text has the form of a pattern, in which * stands for any characters."""
    return any(fnmatchcase(text, _LITERAL.sub("[\\g<0>]", pattern)) for pattern in patterns)


def _machine_types(subject: Subject, wanted: settings.MachineTypes, _prices: Prices) -> Iterator[Problem]:
    yield from _unknown_pools(subject)
    for pool in subject.pools:
        if not matches(pool.machine.machine_type, wanted.allowed):
            path = f"{pool.path}.machine_spec.machine_type"
            yield _not_allowed(subject, path, pool.machine.machine_type, wanted.allowed)


def _accelerators(subject: Subject, wanted: settings.Accelerators, _prices: Prices) -> Iterator[Problem]:
    yield from _unknown_pools(subject)
    count = 0
    for pool in subject.pools:
        count += accelerators_of(pool.machine) * pool.replicas
        accelerator = pool.machine.accelerator_type
        if accelerator is not None and not matches(accelerator, wanted.allowed):
            path = f"{pool.path}.machine_spec.accelerator_type"
            yield _not_allowed(subject, path, accelerator, wanted.allowed)
    count *= _trials(subject)
    if wanted.most is not None and count > wanted.most:
        yield _of_all_pools(
            subject,
            f"{counted(count, 'accelerator')} at the same time; {_at_most(wanted.most)}. "
            f"Lower {_lower(subject, *_sizes(subject))}.",
        )


def _regions(subject: Subject, wanted: settings.Regions, _prices: Prices) -> Iterator[Problem]:
    location = subject.declared.location
    if not matches(location.lower(), [pattern.lower() for pattern in wanted.allowed]):
        yield _not_allowed(subject, "location", location, wanted.allowed)


def _replicas(subject: Subject, wanted: settings.Replicas, _prices: Prices) -> Iterator[Problem]:
    yield from _unknown_pools(subject)
    count = sum(pool.replicas for pool in subject.pools) * _trials(subject)
    if wanted.most is not None and count > wanted.most:
        yield _of_all_pools(
            subject,
            f"{counted(count, 'replica')} at the same time; {_at_most(wanted.most)}. "
            f"Lower {_lower(subject)}.",
        )


def _hourly_cost(subject: Subject, wanted: settings.HourlyCost, prices: Prices) -> Iterator[Problem]:
    if wanted.most is None:
        return
    yield from _unknown_pools(subject)
    allows_unknown = wanted.unknown_prices == "allow"
    for message in over_limit(subject, wanted.most, prices(), unknown_prices=allows_unknown):
        yield _of_all_pools(subject, message, "location", "scheduling", "trial_job_spec.scheduling")


def _spot(subject: Subject, wanted: settings.Spot, _prices: Prices) -> Iterator[Problem]:
    if matches(subject.stack, wanted.production):
        return
    for path, job in subject.jobs:
        if job.persistent_resource_id is not None:  # its machines run already
            continue
        scheduling = job.scheduling and normal_scheduling(job.scheduling)
        strategy = (scheduling and scheduling.strategy) or "STANDARD"
        if strategy not in wanted.strategies:
            remedy = f"Set it to {one_of(wanted.strategies)}." if wanted.strategies else _choose(())
            yield Problem(
                path=child(child(path, "scheduling"), "strategy"),
                message=f"{shown(strategy)} is not allowed in the stack {subject.stack}, which is not "
                f"production. {remedy}",
            )


def _service_account(
    subject: Subject, wanted: settings.ServiceAccounts, _prices: Prices
) -> Iterator[Problem]:
    for path, account in _accounts(subject):
        if not account:
            effect = (
                "so Cloud Scheduler has no account that may submit the runs"
                if isinstance(subject.declared, Schedule)
                else "so the job runs as Vertex AI's service agent"
            )
            yield Problem(
                path=path, message=f"is missing, {effect}. Give a service account{_like(wanted.allowed)}."
            )
        elif not matches(account, wanted.allowed):
            yield _not_allowed(subject, path, account, wanted.allowed)


def _accounts(subject: Subject) -> Iterator[tuple[str, str | None]]:
    for path, job in subject.jobs:
        yield child(path, "service_account"), job.service_account
    if isinstance(subject.declared, Schedule):
        yield "service_account", subject.declared.service_account


def _encryption_key(subject: Subject, wanted: settings.EncryptionKeys, _prices: Prices) -> Iterator[Problem]:
    name = _key(subject)
    if name is None:
        return
    path, key = name
    if not key:
        yield Problem(
            path=path,
            message=f"is missing, so Google manages the key. Give a key of Cloud KMS{_like(wanted.allowed)}.",
        )
    elif not matches(key, wanted.allowed):
        yield _not_allowed(subject, path, key, wanted.allowed)


def _key(subject: Subject) -> tuple[str, str | None] | None:
    """Return the path of the key, and the key; None for a resource that has none."""
    declared = subject.declared
    if isinstance(declared, Encrypted):
        spec = declared.encryption_spec
        return "encryption_spec.kms_key_name", spec.kms_key_name if spec else None
    if isinstance(declared, Bucket):
        encryption = declared.encryption
        return "encryption.default_kms_key_name", encryption.default_kms_key_name if encryption else None
    return ("kms_key_name", declared.kms_key_name) if isinstance(declared, Repository) else None


def _labels(subject: Subject, wanted: settings.Labels, _prices: Prices) -> Iterator[Problem]:
    if not isinstance(subject.declared, Labelled):
        return
    labels = subject.declared.labels
    for key in wanted.required:
        if key not in labels:
            example = next((value for value in wanted.values.get(key, ()) if "*" not in value), "...")
            yield Problem(
                path=child("labels", key), message=f'is missing. Add labels={{"{key}": "{example}"}}.'
            )
    for key, values in wanted.values.items():
        if key in labels and not matches(labels[key], values):
            yield _not_allowed(subject, child("labels", key), labels[key], values)


def _images(subject: Subject, wanted: settings.Images, _prices: Prices) -> Iterator[Problem]:
    yield from _unknown_pools(subject)
    for path, uri in subject.images:
        name, digest = _repository(uri)
        if not matches(name, wanted.repositories):
            yield Problem(
                path=path, message=f"{short_image(uri)} is not allowed. {_choose(wanted.repositories)}"
            )
        elif wanted.by_digest and not digest and not matches(name, wanted.tags):
            yield Problem(
                path=path,
                message=f"{uri} is named by a tag, which can be moved to another image. "
                f"Name it by its digest, {name}@sha256:..., or pass a TrainingImage.",
            )


def _repository(uri: str) -> tuple[str, str]:
    """Return an image without tag and digest, and its digest or ""."""
    name, _, digest = uri.partition("@")
    folder, slash, last = name.rpartition("/")
    return f"{folder}{slash}{last.partition(':')[0]}", digest


def _timeout(subject: Subject, wanted: settings.Timeouts, prices: Prices) -> Iterator[Problem]:
    for path, job in subject.jobs:
        at = child(child(path, "scheduling"), "timeout")
        given = (job.scheduling and job.scheduling.timeout) or ""
        timeout = _seconds(given)
        most = _seconds(wanted.most or "")
        if timeout is None and isinstance(subject.declared, Job) and subject.declared.max_cost is not None:
            allowed = seconds_allowed(subject, subject.declared.max_cost, prices())
            if allowed is not None and most is not None and allowed > most:
                message = f"allows {allowed}s, which is too long. Give a timeout of at most {wanted.most}."
                yield Problem(path="max_cost", message=message)
        elif timeout is None:
            limit = f" of at most {wanted.most}" if most is not None else ', such as "3600s"'
            yield Problem(
                path=at, message=f"is missing, so the job may run for 7 days. Give a timeout{limit}."
            )
        elif most is not None and timeout > most:
            yield Problem(path=at, message=f"{normal(given)} is too long. Give at most {wanted.most}.")


def _seconds(duration: str) -> float | None:
    """Return a duration in seconds; None for no duration, "" and "0s"."""
    text = normal(duration)
    try:
        return float(text.removesuffix("s")) or None if text.endswith("s") else None
    except ValueError:
        return None


def _protect_running(subject: Subject, _: settings.ProtectRunning, _prices: Prices) -> Iterator[Problem]:
    if isinstance(subject.declared, Job) and not subject.declared.protect_running:
        yield Problem(
            path="protect_running",
            message=f"is False in the stack {subject.stack}, so a change of the program can cancel a live "
            "job. Set protect_running=True.",
        )


def _unknown_pools(subject: Subject) -> Iterator[Problem]:
    """Yield a problem at each list of pools that is not known as a whole; `known` drops it."""
    paths = [child(path, "worker_pool_specs") for path, _ in subject.jobs]
    for path in (*paths, "resource_pools", "custom_task", "tuning_task", "trial_job_spec"):
        if path in subject.unknown:
            yield Problem(path=path, message="is not known yet")


def _sizes(subject: Subject) -> Iterator[str]:
    """Yield the fields that say how many accelerators a machine of the resource has."""
    topologies = [bool(pool.machine.tpu_topology) for pool in subject.pools]
    if not all(topologies):
        yield "accelerator_count"
    if any(topologies):
        yield "tpu_topology"


def _at_most(number: int) -> str:
    return f"at most {number} {'is' if number == 1 else 'are'} allowed"


def _lower(subject: Subject, *fields: str) -> str:
    """Return the fields that decide about the number of replicas, after others."""
    pools = subject.declared.resource_pools if isinstance(subject.declared, Machines) else ()
    is_grown = any(pool.capacity > pool.replica_count for pool in pools)
    has_fixed = not pools or any(pool.capacity == pool.replica_count for pool in pools)
    return one_of(
        (
            *fields,
            *(["replica_count"] if has_fixed else []),
            *(["autoscaling_spec.max_replica_count"] if is_grown else []),
            *(["parallel_trial_count"] if subject.tuning else []),
        )
    )


def _trials(subject: Subject) -> int:
    return max(subject.tuning.parallel_trial_count, 1) if subject.tuning else 1


def _of_all_pools(subject: Subject, message: str, *also: str) -> Problem:
    """Return a problem with all pools together, at the list of the first job; it rests on `also` as well."""
    path = next((child(path, "worker_pool_specs") for path, _ in subject.jobs), "resource_pools")
    trials = ("parallel_trial_count", "tuning_task.parallel_trial_count") if subject.tuning else ()
    deciding = (f"{pool}.{name}" for pool in subject.paths_of_pools for name in _DECIDING)
    return Problem(path=path, message=message, rests_on=(path, *deciding, *trials, *also))


_DECIDING = ("machine_spec.*", "disk_spec.*", "replica_count", "autoscaling_spec.*")
"""The fields of a pool that decide about its machines, and not about its task."""


_PUBLIC = ("machine_type", "accelerator_type", "location")
"""Fields with names of Google's. A secret in a job's environment makes all of its pools secret to Pulumi."""


def _not_allowed(subject: Subject, path: str, value: str, allowed: Collection[str]) -> Problem:
    is_hidden = subject.is_secret(path) and path.rpartition(".")[2] not in _PUBLIC
    wrong = "the secret" if is_hidden else shown(value, longest=120)
    return Problem(path=path, message=f"{wrong} is not allowed. {_choose(allowed)}")


def _choose(patterns: Collection[str]) -> str:
    return f"Choose {one_of(patterns)}." if patterns else "No value is allowed."


def _like(patterns: Collection[str]) -> str:
    return "" if "*" in patterns or not patterns else f" that matches {one_of(patterns)}"


POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        policy.name: policy
        for policy in (
            Policy(
                name="machine-types",
                says="Jobs run on allowed machine types only.",
                settings=settings.MachineTypes,
                check=_machine_types,
            ),
            Policy(
                name="accelerators",
                says="Jobs use allowed accelerators only, and not too many of them.",
                settings=settings.Accelerators,
                check=_accelerators,
            ),
            Policy(
                name="regions",
                says="Resources are in allowed regions only.",
                settings=settings.Regions,
                check=_regions,
            ),
            Policy(
                name="replicas",
                says="Jobs have a limited number of replicas.",
                settings=settings.Replicas,
                check=_replicas,
            ),
            Policy(
                name="hourly-cost",
                says="Resources cost at most so much an hour.",
                settings=settings.HourlyCost,
                check=_hourly_cost,
            ),
            Policy(
                name="spot-outside-production",
                says="Jobs outside of production run on Spot VMs.",
                settings=settings.Spot,
                check=_spot,
            ),
            Policy(
                name="service-account",
                says="Jobs run as a service account of their own.",
                settings=settings.ServiceAccounts,
                check=_service_account,
            ),
            Policy(
                name="encryption-key",
                says="Resources are encrypted with a key of the customer.",
                settings=settings.EncryptionKeys,
                check=_encryption_key,
            ),
            Policy(
                name="labels",
                says="Resources have the labels of the organization.",
                settings=settings.Labels,
                check=_labels,
            ),
            Policy(
                name="images",
                says="Images come from allowed repositories, and are named by their digests.",
                settings=settings.Images,
                check=_images,
            ),
            Policy(
                name="timeout",
                says="Jobs have a timeout.",
                settings=settings.Timeouts,
                check=_timeout,
            ),
            Policy(
                name="protect-running",
                says="Live jobs of production are protected.",
                settings=settings.ProtectRunning,
                check=_protect_running,
            ),
        )
    }
)
"""Every policy by its name."""
