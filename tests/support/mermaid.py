"""Read the flowcharts that `views.topology.mermaid` draws, strictly: any other line is an error."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_LABEL = r'\["([^"\n]*)"\]'
_SUBGRAPH = re.compile(rf"subgraph cluster{_LABEL}")
_NODE = re.compile(rf"(p\d){_LABEL}(?::::(\w+))?")
_EDGE = re.compile(r"(\w+) (---|-\.->) (\w+)")
_CLASS_DEFINITION = re.compile(r"classDef (\w+) [\w:#, -]+")


@dataclass
class Chart:
    """A flowchart: its frame with title and nodes, the nodes beside it, the edges and the changed nodes."""

    title: str = ""
    cluster: dict[str, str] = field(default_factory=dict)
    apart: dict[str, str] = field(default_factory=dict)
    edges: set[tuple[str, str, str]] = field(default_factory=set)
    changes: dict[str, str] = field(default_factory=dict)

    @property
    def nodes(self) -> dict[str, str]:
        return {**self.cluster, **self.apart}


def read(text: str) -> Chart:
    """Read a flowchart. Raises AssertionError for any other line, and for a name that appears twice."""
    first, frame, *lines = text.split("\n")
    title = _SUBGRAPH.fullmatch(frame.strip())
    assert first == "flowchart LR" and title, text
    chart, defined, inside = Chart(title=_text(title[1])), set(), True
    for line in map(str.strip, lines):
        if line == "end":
            assert inside
            inside = False
        elif match := _CLASS_DEFINITION.fullmatch(line):
            defined.add(match[1])
        elif match := _EDGE.fullmatch(line):
            chart.edges.add((match[1], match[2], match[3]))
        else:
            match = _NODE.fullmatch(line)
            assert match and match[1] not in chart.nodes, line
            (chart.cluster if inside else chart.apart)[match[1]] = _text(match[2])
            if match[3]:
                chart.changes[match[1]] = match[3]
    assert not inside, "the frame has no end"
    assert {name for edge in chart.edges for name in (edge[0], edge[2])} <= {"cluster", *chart.nodes}
    assert set(chart.changes.values()) == defined
    return chart


def _text(label: str) -> str:
    return re.sub(r"#(\d+);", lambda match: chr(int(match[1])), label)
