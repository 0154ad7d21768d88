"""Draw the worker pools of a job as a Mermaid flowchart, which GitHub and GitLab show as a picture.

A pool is a box with its replicas. Up to four replicas with the same fate are drawn one by one, more of them
as one node with their number, so that a picture of 200 replicas is as small as one of ten.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pulumi_vertex_training.views.pools_view import pool_in_words, role_in_words
from vertex_training.fields.values import NOT_KNOWN
from vertex_training.findings.words import visible
from vertex_training.topology.difference import PoolChange, tail
from vertex_training.topology.pools import WorkerPoolSpec
from vertex_training.topology.roles import EVALUATORS, MAX_POOLS, replica_name

Fate = Literal["", "added", "removed", "changed"]

_MOST_NODES = 4
_STYLES = {
    "added": "stroke:#2da44e,stroke-width:3px",
    "removed": "stroke:#cf222e,stroke-width:3px,stroke-dasharray:6 4",
    "changed": "stroke:#bf8700,stroke-width:3px",
}
"""The border of what differs; the label has the same as a word."""
_PLAIN = frozenset(" ._:,/()-")
_LONGEST_LABEL = 120


@dataclass(frozen=True, kw_only=True)
class _Box:
    """A pool of one side: its position, and the number of its first replicas that the other side has too.

    `is_known` is false while the number of replicas is not known yet.
    """

    index: int
    pool: WorkerPoolSpec
    fate: Fate = ""
    shared: int = 0
    is_known: bool = True


def picture(pools: Sequence[WorkerPoolSpec]) -> str:
    """Return the pools as a flowchart, "" for a job without replicas."""
    boxes = [
        _Box(index=i, pool=pool, shared=pool.replica_count)
        for i, pool in enumerate(pools[:MAX_POOLS])
        if not pool.is_empty
    ]
    return "\n".join(["flowchart TB", *_indented(_pools("p", boxes, ""))]) if boxes else ""


def picture_of_change(changes: Sequence[PoolChange]) -> str:
    """Return the pools before and after a change, side by side; "" without any replica.

    `changes` are those of `topology.difference.compare`, which has unchanged pools as well. A job that is new
    or removed has one side only.
    """
    before = [_box(change, old=True) for change in changes if not change.old.is_empty]
    after = [_box(change, old=False) for change in changes if not change.new.is_empty]
    if not before and not after:
        return ""
    lines = [
        *(_side("before", before, "removed") if before else ()),
        *(_side("after", after, "added") if after else ()),
        *(("before ==> after",) if before and after else ()),
    ]
    text = "\n".join(lines)
    lines += [f"classDef {name} {style}" for name, style in _STYLES.items() if name in text]
    return "\n".join(["flowchart LR", *_indented(lines)])


def _box(change: PoolChange, *, old: bool) -> _Box:
    fate: Fate = "changed" if change.change == "changed" else ""
    if change.change in ("added", "removed"):
        fate = "added" if change.change == "added" else "removed"
    return _Box(
        index=change.index,
        pool=change.old if old else change.new,
        fate=fate,
        shared=min(change.old.replica_count, change.new.replica_count),
        is_known=old or not _has_unknown_count(change),
    )


def _has_unknown_count(change: PoolChange) -> bool:
    """Return whether the number of replicas, or the whole pool, is not known yet."""
    return any(tail(field) in ("", "replica_count") and field.new == NOT_KNOWN for field in change.fields)


def _side(name: str, boxes: Sequence[_Box], fate_of_others: Fate) -> Iterator[str]:
    count = sum(box.pool.replica_count for box in boxes)
    known = all(box.is_known for box in boxes)
    title = f"{name}: {f'{count} ' if known else ''}replica{'s' if count != 1 or not known else ''}"
    yield f"subgraph {name}[{_label(title)}]"
    yield from _indented(("direction TB", *_pools(name[0], boxes, fate_of_others)))
    yield "end"


def _pools(prefix: str, boxes: Sequence[_Box], fate_of_others: Fate) -> Iterator[str]:
    """Yield the pools with their replicas, then the lines between pools that talk to each other.

    Chief, workers and servers are one cluster. The evaluator only reads what the chief has saved.
    """
    for box in boxes:
        name = f"{prefix}{box.index}"
        title = pool_in_words(box.index, box.pool) if box.is_known else role_in_words(box.index, box.pool)
        yield f"subgraph {name}[{_label(title + (f' ({box.fate})' if box.fate else ''))}]"
        yield from _indented(_replicas(name, box, fate_of_others))
        yield "end"
        if box.fate:
            yield f"class {name} {box.fate}"
    cluster = [box.index for box in boxes if box.index != EVALUATORS]
    for position, one in enumerate(cluster):
        for other in cluster[position + 1 :]:
            yield f"{prefix}{one} --- {prefix}{other}"
    if any(box.index == EVALUATORS for box in boxes) and cluster:
        yield f"{prefix}{cluster[0]} -.- {prefix}{EVALUATORS}"


def _replicas(name: str, box: _Box, fate_of_others: Fate) -> Iterator[str]:
    count = box.pool.replica_count
    if not box.is_known:
        yield _node(f"{name}r", NOT_KNOWN, "")
        return
    for first, last, fate in ((0, box.shared, ""), (box.shared, count, fate_of_others)):
        shown = "" if fate == box.fate else fate  # the box says it already
        if last - first > _MOST_NODES:
            ends = f"{replica_name(box.index, first)} to {replica_name(box.index, last - 1)}"
            yield _node(f"{name}r{first}", f"{ends}: {last - first} replicas", shown)
        else:
            for i in range(first, last):
                yield _node(f"{name}r{i}", replica_name(box.index, i), shown)


def _node(name: str, text: str, fate: str) -> str:
    return f"{name}[{_label(text + (f' ({fate})' if fate else ''))}]" + (f":::{fate}" if fate else "")


def _label(text: str) -> str:
    """Return a text as a label. Everything but letters, digits and a few signs becomes Mermaid's entities.

    A label that began with a sign of a list would be read as Markdown; none does, as each begins with a word.
    """
    shown = visible(text)
    shown = shown if len(shown) <= _LONGEST_LABEL else f"{shown[: _LONGEST_LABEL - 3]}..."
    return '"' + "".join(c if c.isalnum() or c in _PLAIN else f"#{ord(c)};" for c in shown) + '"'


def _indented(lines: Sequence[str] | Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield f"  {line}"
