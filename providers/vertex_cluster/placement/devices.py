"""On which parameter server a variable lives: chosen by a hash of its name, so that every worker agrees,
whatever else is in its graph.

Source: adanet.distributed.devices. The hash is SHA-256 of the operation's name in UTF-8, read as one large
number (the first byte is the highest), modulo the number of servers in the group. AdaNet's estimator places
the variables of the ensemble in the same way, over all parameter servers: TensorFlow's own default, in turn,
would put one name on different servers in graphs that differ.
"""

from __future__ import annotations

import hashlib
from typing import Sequence

from .strategies import PlacementStrategy
from .worker import PlacedWorker

__all__ = ["STANDARD_PS_OPS", "ensemble_variable_device", "subnetwork_variable_device", "variable_device"]

STANDARD_PS_OPS = (
    "Variable",
    "VariableV2",
    "AutoReloadVariable",
    "MutableHashTable",
    "MutableHashTableV2",
    "MutableHashTableOfTensors",
    "MutableHashTableOfTensorsV2",
    "MutableDenseHashTable",
    "MutableDenseHashTableV2",
    "VarHandleOp",
    "BoostedTreesEnsembleResourceHandleOp",
    "BoostedTreesQuantileStreamResourceHandleOp",
    "ResourceConditionalAccumulator",
    "DecisionTreeResource",
)
"""Types of operations that hold state, and so live on parameter servers
(tensorflow.python.training.device_setter of TensorFlow 2; older versions have the first ten only)."""


def variable_device(
    operation: str, group: Sequence[int], *, operation_type: str = "VarHandleOp"
) -> str | None:
    """``/job:ps/task:N`` for the operation of that name, N being one of `group`.

    None, which leaves the operation where it is, without parameter servers and for a type of operation that
    is not one of `STANDARD_PS_OPS`.
    """
    if not group or operation_type not in STANDARD_PS_OPS:
        return None
    hashed = int.from_bytes(hashlib.sha256(operation.encode("utf-8")).digest(), "big")
    return f"/job:ps/task:{group[hashed % len(group)]}"


def subnetwork_variable_device(
    strategy: PlacementStrategy,
    worker: PlacedWorker,
    subnetwork: int,
    operation: str,
    *,
    operation_type: str = "VarHandleOp",
) -> str | None:
    """The device of a variable of a subnetwork, see `variable_device`. Where the strategy dedicates no
    servers to it the variable is spread over all of them, as AdaNet's estimator does; AdaNet's strategy alone
    then names none.

    Raises PlacementError for a subnetwork that does not exist.
    """
    group = strategy.parameter_server_group(worker, subnetwork)
    return variable_device(operation, group, operation_type=operation_type)


def ensemble_variable_device(
    worker: PlacedWorker, operation: str, *, operation_type: str = "VarHandleOp"
) -> str | None:
    """The device of a variable outside all subnetworks: any parameter server, dedicated ones as well."""
    return variable_device(operation, range(worker.parameter_servers), operation_type=operation_type)
