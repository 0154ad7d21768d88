"""Draw the worker pools of a job as a Mermaid flowchart, which GitHub and GitLab show as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from pulumi_vertex_training.views.topology.drawing import Box, Drawing, drawing_of, drawing_of_change
from vertex_training.findings.words import visible
from vertex_training.topology.difference import PoolChange
from vertex_training.topology.pools import WorkerPoolSpec

_STYLES = {
    "added": "stroke:#2da44e,stroke-width:3px",
    "removed": "stroke:#cf222e,stroke-width:3px,stroke-dasharray:6 4",
    "resized": "stroke:#0969da,stroke-width:3px",
    "changed": "stroke:#bf8700,stroke-width:3px",
}
"""The border of what differs; the label has the same as a word."""
_PLAIN = frozenset(" ._:,/()-")
_LONGEST_LABEL = 120


def picture(pools: Sequence[WorkerPoolSpec]) -> str:
    """Return the pools as a flowchart, "" for a job without replicas."""
    return _flowchart(drawing_of(pools))


def picture_of_change(changes: Sequence[PoolChange]) -> str:
    """Return the pools with what a change does to them; "" if their numbers and machines stay the same."""
    return _flowchart(drawing_of_change(changes))


def _flowchart(drawing: Drawing) -> str:
    return "\n".join(["flowchart LR", *(f"  {line}" for line in _lines(drawing))]) if drawing.boxes else ""


def _lines(drawing: Drawing) -> Iterator[str]:
    """Yield the cluster as a frame with a node for each pool, and the evaluator, which only reads."""
    cluster = drawing.cluster or drawing.boxes
    yield f"subgraph cluster[{_label(drawing.cluster_totals or 'replicas')}]"
    for box in cluster:
        yield f"  {_node(box)}"
    for one, other in combinations(cluster, 2):
        yield f"  p{one.index} --- p{other.index}"
    yield "end"
    if drawing.apart is not None:
        yield _node(drawing.apart)
        yield f"cluster -.-> p{drawing.apart.index}"
    found = {box.fate for box in drawing.boxes}
    yield from (f"classDef {name} {style}" for name, style in _STYLES.items() if name in found)


def _node(box: Box) -> str:
    return f"p{box.index}[{_label(box.words)}]" + (f":::{box.fate}" if box.fate else "")


def _label(text: str) -> str:
    """Return a text as a label. Everything but letters, digits and a few signs becomes Mermaid's entities.

    A label that began with a sign of a list would be read as Markdown; none does, as each begins with a word.
    """
    shown = visible(text)
    shown = shown if len(shown) <= _LONGEST_LABEL else f"{shown[: _LONGEST_LABEL - 3]}..."
    return '"' + "".join(c if c.isalnum() or c in _PLAIN else f"#{ord(c)};" for c in shown) + '"'
