"""Lineage: the artifacts, executions and events that belong together."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.services.metadata.store import MetadataTables
from vertex_emulator.services.resource_engine.operations import V1
from vertex_emulator.services.resource_engine.records import Record

_MOST = 1000


def of_context(tables: MetadataTables, context: Record) -> DynamicMessage:
    """Return what is in a context: artifacts, executions, and the events of these executions."""
    members = tables.relations.members(context.name)
    executions = {each for each in members if "/executions/" in each}
    events = [event for each in executions for event in tables.relations.events(execution=each)]
    artifacts = {each for each in members if "/artifacts/" in each}
    return _subgraph(tables, artifacts, executions, events)


def of_execution(tables: MetadataTables, execution: Record) -> DynamicMessage:
    """Return an execution with its inputs and outputs."""
    events = tables.relations.events(execution=execution.name)
    return _subgraph(tables, {event.artifact for event in events}, {execution.name}, events)


def of_artifact(
    tables: MetadataTables, artifact: Record, *, hops: int, matches: Callable[[Record], bool]
) -> DynamicMessage:
    """Return the artifacts and executions within so many hops of an artifact; 0 means any number.

    Artifacts that do not match end the search.
    """
    artifacts, executions = {artifact.name}, set[str]()
    events: dict[tuple[str, str, int], DynamicMessage] = {}
    edge: set[str] = {artifact.name}
    hop = 0
    while edge and (hops == 0 or hop < hops):
        reached: set[str] = set()
        for name in edge:
            found = (
                tables.relations.events(artifact=name)
                if "/artifacts/" in name
                else tables.relations.events(execution=name)
            )
            for event in found:
                other = event.execution if "/artifacts/" in name else event.artifact
                if "/artifacts/" in other and not _matches(tables, other, matches):
                    continue
                events[event.execution, event.artifact, event.type] = event
                reached.add(other)
        edge = reached - artifacts - executions
        artifacts |= {each for each in edge if "/artifacts/" in each}
        executions |= {each for each in edge if "/executions/" in each}
        hop += 1
    return _subgraph(tables, artifacts, executions, list(events.values()))


def _matches(tables: MetadataTables, name: str, matches: Callable[[Record], bool]) -> bool:
    place, path = tables.artifacts.collection.parse(name)
    record = tables.artifacts.get(place, path)
    return record is not None and matches(record)


def _subgraph(
    tables: MetadataTables, artifacts: Iterable[str], executions: Iterable[str], events: list[DynamicMessage]
) -> DynamicMessage:
    answer = descriptors.message(f"{V1}.LineageSubgraph")
    for name in sorted(artifacts):
        answer.artifacts.append(tables.artifacts.lookup(name).message)
    for name in sorted(executions):
        answer.executions.append(tables.executions.lookup(name).message)
    answer.events.extend(events)
    if max(len(answer.artifacts), len(answer.executions), len(answer.events)) > _MOST:
        raise RpcError(
            "FAILED_PRECONDITION",
            f"The lineage has more than {_MOST} artifacts, executions or events.",
        )
    return answer
