"""Read the environment variables of a replica: CLUSTER_SPEC and TF_CONFIG into a `Cluster`.

Both variables are JSON with the same keys, but with different names of the pools. All documented forms, and
all forms seen in real jobs, are accepted:

* CLUSTER_SPEC of the Vertex AI documentation, "Distributed training": ``workerpool0`` to ``workerpool3``,
  ``job`` a dictionary;
* CLUSTER_SPEC of real jobs: ``job`` a string that holds JSON, ``open_ports`` beside it; in a job of one
  replica the pool is named ``chief``, and the index may be missing or the variable not set;
* CLUSTER_SPEC of the older AI Platform Training, "Distributed training with containers": ``master``,
  ``worker``, ``ps``;
* TF_CONFIG: ``chief`` (or ``master``), ``worker``, ``ps``; evaluators are tasks but never listed.
"""

from __future__ import annotations

import json
import os
from typing import Any, Mapping

from .cluster import ROLES, Cluster, ClusterError, split_address

__all__ = ["from_environment", "local_devices", "parse_cluster_spec", "parse_tf_config"]

_TENSORFLOW_NAMES = {"chief": 0, "master": 0, "worker": 1, "ps": 2, "evaluator": 3}
_POOL_NAMES = {"workerpool0": 0, "workerpool1": 1, "workerpool2": 2, "workerpool3": 3}

_ALONE = "localhost:2222"  # 2222 is the port of every replica on Vertex AI
_LOCAL_DEVICES = "VERTEX_CLUSTER_LOCAL_DEVICES"


def from_environment(environ: Mapping[str, str] | None = None) -> Cluster:
    """Read the cluster of CLUSTER_SPEC, or else of TF_CONFIG, or else return a single chief.

    An empty variable counts as not set. The address of a single chief is ``localhost:2222``, for frameworks
    that need an address. `environ` defaults to ``os.environ``. Raises ClusterError.
    """
    values: Mapping[str, str] = os.environ if environ is None else environ
    cluster_spec, tf_config = values.get("CLUSTER_SPEC", ""), values.get("TF_CONFIG", "")
    if cluster_spec.strip():
        return parse_cluster_spec(cluster_spec)
    if tf_config.strip():
        return parse_tf_config(tf_config)
    return Cluster(pools=((_ALONE,), (), (), ()), pool=0, index=0)


def parse_cluster_spec(text: str) -> Cluster:
    """Parse the value of CLUSTER_SPEC. Raises ClusterError."""
    return _Reader("CLUSTER_SPEC", {**_POOL_NAMES, **_TENSORFLOW_NAMES}).cluster(text)


def parse_tf_config(text: str) -> Cluster:
    """Parse the value of TF_CONFIG. Raises ClusterError.

    The variable does not list evaluators: the last pool is empty, even on an evaluator.
    """
    return _Reader("TF_CONFIG", _TENSORFLOW_NAMES).cluster(text)


def local_devices(environ: Mapping[str, str] | None = None) -> int:
    """Return the number of logical CPU devices that stand in for accelerators on the emulator.

    It is 0 on Google Cloud, where the devices are real, and for a machine without accelerators. JAX (by
    XLA_FLAGS) and TensorFlow use that many devices by themselves. For PyTorch it is the number of processes:

        processes = vertex_cluster.local_devices() or torch.cuda.device_count() or 1

    `environ` defaults to ``os.environ``. Raises ClusterError if the value is not a number.
    """
    values: Mapping[str, str] = os.environ if environ is None else environ
    text = values.get(_LOCAL_DEVICES, "").strip()
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()):
        raise ClusterError(
            variable=_LOCAL_DEVICES,
            path="",
            message=f"is {text!r}, not a number of devices",
            remedy="Give a whole number, or leave it out",
        )
    return int(text)


class _Reader:
    """Reader of one variable. `pool_names` maps its names of pools to positions."""

    def __init__(self, variable: str, pool_names: Mapping[str, int]) -> None:
        self.variable = variable
        self.pool_names = pool_names

    def cluster(self, text: str) -> Cluster:
        value = self._object("", self._json("", text))
        pools = self._pools(value.get("cluster"))
        pool, index, trial = self._task(value.get("task"), pools)
        return Cluster(
            pools=pools,
            pool=pool,
            index=index,
            trial=trial,
            source=self.variable,
            open_ports=self._open_ports(value.get("open_ports")),
            job=self._job(value.get("job")),
        )

    def _pools(self, value: object) -> tuple[tuple[str, ...], ...]:
        named = self._object("cluster", value)
        pools: dict[int, tuple[str, ...]] = {}
        owner: dict[str, str] = {}
        for name, addresses in named.items():
            path = f"cluster.{name}"
            position = self._position(path, name, "is not a known pool")
            if not isinstance(addresses, list):
                raise self._error(path, f"is {_shown(addresses)}, not a list", "Give a list of host:port")
            hosts = tuple(self._address(f"{path}[{i}]", entry) for i, entry in enumerate(addresses))
            if position in pools:  # one replica may be listed as `chief` and as `workerpool0`
                if pools[position] != hosts:
                    role = ROLES[position].replace("_", " ")
                    raise self._error(
                        path,
                        f"lists different {role}s than the other name of this pool",
                        "Keep one of the two",
                    )
                continue
            pools[position] = hosts
            for i, address in enumerate(hosts):
                if address in owner:
                    raise self._error(
                        f"{path}[{i}]",
                        f"is {_shown(address)}, the same as {owner[address]}",
                        "Give each replica its own address",
                    )
                owner[address] = f"{path}[{i}]"
        if len(pools.get(0, ())) != 1:
            raise self._error(
                "cluster",
                f"has {len(pools.get(0, ()))} replicas in the first pool",
                "A job has exactly one chief: give workerpool0 (or chief) a list of one address",
            )
        return tuple(pools.get(position, ()) for position in range(len(ROLES)))

    def _task(self, value: object, pools: tuple[tuple[str, ...], ...]) -> tuple[int, int, str | None]:
        task = self._object("task", value)
        kind = task.get("type")
        if not isinstance(kind, str):
            raise self._error("task.type", f"is {_shown(kind)}, not a string", self._name_a_pool())
        position = self._position("task.type", kind, f"is {_shown(kind)}, which is not a pool")
        size = len(pools[position])
        index = task.get("index", 0 if size == 1 else None)
        if isinstance(index, bool) or not isinstance(index, int) or index < 0:
            raise self._error(
                "task.index",
                f"is {_shown(index)}, not a whole number of at least 0",
                "Count the pool's replicas from 0",
            )
        unlisted = size == 0 and self.variable == "TF_CONFIG" and ROLES[position] == "evaluator"
        if index >= size and not unlisted:
            raise self._error(
                "task.index",
                f"is {index}, but {kind} has {size} {'replica' if size == 1 else 'replicas'}",
                f"List every replica of {kind} under cluster, and count from 0",
            )
        trial = task.get("trial")
        if isinstance(trial, bool) or not isinstance(trial, (str, int, type(None))):
            raise self._error(
                "task.trial", f"is {_shown(trial)}, not a trial's number", 'Give a string like "1"'
            )
        return position, index, None if trial is None or trial == "" else str(trial)

    def _open_ports(self, value: object) -> tuple[int, ...]:
        if value is None:
            return ()
        if not isinstance(value, list) or any(isinstance(p, bool) or not isinstance(p, int) for p in value):
            raise self._error(
                "open_ports", f"is {_shown(value)}, not a list of ports", "Give a list like [3333]"
            )
        return tuple(value)

    def _job(self, value: object) -> Mapping[str, Any]:
        if value is None or value == "":
            return {}
        decoded = self._json("job", value) if isinstance(value, str) else value
        if not isinstance(decoded, dict):
            # A job's arguments may be secret, so the message does not show the value.
            raise self._error(
                "job",
                "is neither a JSON object nor a string that holds one",
                "Do not change the variable that Vertex AI sets",
            )
        return decoded

    def _address(self, path: str, value: object) -> str:
        try:
            if not isinstance(value, str):
                raise ValueError
            split_address(value)
        except ValueError:
            raise self._error(
                path,
                f"is {_shown(value)}, not host:port with a port from 1 to 65535",
                'Write it like "host:2222"',
            ) from None
        return value

    def _position(self, path: str, name: str, message: str) -> int:
        if name not in self.pool_names:
            raise self._error(path, message, self._name_a_pool())
        return self.pool_names[name]

    def _name_a_pool(self) -> str:
        return f"Use one of {', '.join(self.pool_names)}"

    def _json(self, path: str, text: str) -> object:
        try:
            value: object = json.loads(text)
        except ValueError as error:
            shown = "" if path else f"begins with {_shown(text[:40])} and "  # `job` may be secret
            raise self._error(
                path, f"{shown}is not JSON: {error}", "Print the variable, and correct its quotes"
            ) from None
        except RecursionError:
            raise self._error(path, "is nested too deeply", "Use the JSON that Vertex AI writes") from None
        return value

    def _object(self, path: str, value: object) -> Mapping[str, Any]:
        if isinstance(value, dict):
            return value
        message = "is missing" if value is None and path else f"is {_shown(value)}, not a JSON object"
        raise self._error(path, message, "Give the form that Vertex AI documents for distributed training")

    def _error(self, path: str, message: str, remedy: str) -> ClusterError:
        return ClusterError(variable=self.variable, path=path, message=message, remedy=remedy)


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
