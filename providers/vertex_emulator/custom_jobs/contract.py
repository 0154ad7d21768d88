"""In which form the replicas of new jobs get CLUSTER_SPEC: `/_local/contract`.

A setting for tests, in memory as faults are. It counts for the jobs that are created from then on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import get_args

from vertex_emulator.http.messages import HttpError, Request, Response, Route, json_response
from vertex_emulator.http.numbers import body_of
from vertex_training.environment.replica import Contract

_PATH = "/_local/contract"
_CONTRACTS: tuple[Contract, ...] = get_args(Contract)


class ClusterContract:
    """`chosen` is one of `vertex_training.environment.cluster_variables`."""

    def __init__(self) -> None:
        self.chosen: Contract = "observed"

    def reset(self) -> None:
        """As real jobs get it, as at the start."""
        self.chosen = "observed"

    def routes(self) -> Sequence[Route]:
        """GET and PUT, with a body like {"contract": "documented"}."""
        return (Route("GET", _PATH, self._get), Route("PUT", _PATH, self._put))

    def _get(self, _request: Request, _match: re.Match[str]) -> Response:
        return json_response({"contract": self.chosen})

    def _put(self, request: Request, match: re.Match[str]) -> Response:
        given = body_of(request, "contract").get("contract")
        if given not in _CONTRACTS:
            raise HttpError(400, "", f"contract has to be {' or '.join(_CONTRACTS)}.")
        self.chosen = _CONTRACTS[_CONTRACTS.index(given)]
        return self._get(request, match)
