"""Read the flowcharts that `views.topology_picture` draws, strictly: any other line is an error."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_LABEL = r'\["([^"\n]*)"\]'
_SUBGRAPH = re.compile(rf"subgraph (\w+){_LABEL}")
_NODE = re.compile(rf"(\w+){_LABEL}(?::::(\w+))?")
_EDGE = re.compile(r"(\w+) (---|-\.-|==>) (\w+)")
_CLASS = re.compile(r"class (\w+) (\w+)")
_CLASS_DEFINITION = re.compile(r"classDef (\w+) [\w:#, -]+")
_REPLICA = re.compile(r"workerpool(\d)-(\d+)(?: to workerpool(\d)-(\d+): (\d+) replicas)?(?: \((\w+)\))?")


@dataclass
class Box:
    """A subgraph: its title, its nodes, the boxes in it, and the words of its replicas."""

    title: str
    nodes: list[str] = field(default_factory=list)
    boxes: dict[str, Box] = field(default_factory=dict)

    @property
    def replicas(self) -> list[tuple[int, int, str]]:
        """The pool, the index and the fate of each replica, also of those drawn as one node."""
        found = []
        for text in self.nodes:
            match = _REPLICA.fullmatch(text)
            assert match, text
            first, last = int(match[2]), int(match[4] or match[2])
            assert match[5] is None or int(match[5]) == last - first + 1, text
            found += [(int(match[1]), i, match[6] or "") for i in range(first, last + 1)]
        return found

    @property
    def all_replicas(self) -> list[tuple[int, int, str]]:
        return [*self.replicas, *(one for box in self.boxes.values() for one in box.all_replicas)]


@dataclass
class Chart:
    """A flowchart: its boxes, its edges, and the classes of boxes."""

    boxes: dict[str, Box] = field(default_factory=dict)
    edges: set[tuple[str, str, str]] = field(default_factory=set)
    classes: dict[str, str] = field(default_factory=dict)

    @property
    def replicas(self) -> list[tuple[int, int, str]]:
        return [one for box in self.boxes.values() for one in box.all_replicas]


def read(text: str) -> Chart:
    """Read a flowchart. Raises AssertionError for any other line, and for a name that appears twice."""
    first, *lines = text.split("\n")
    assert first in ("flowchart TB", "flowchart LR"), first
    chart, names, defined = Chart(), set(), set()
    inside: list[dict[str, Box]] = [chart.boxes]
    boxes: list[Box] = []
    for indented in lines:
        line = indented.strip()
        if match := _SUBGRAPH.fullmatch(line):
            box = Box(title=_text(match[2]))
            assert match[1] not in names, line
            names.add(match[1])
            inside[-1][match[1]] = box
            inside.append(box.boxes)
            boxes.append(box)
        elif line == "end":
            inside.pop()
            boxes.pop()
        elif match := _CLASS_DEFINITION.fullmatch(line):
            defined.add(match[1])
        elif match := _CLASS.fullmatch(line):
            chart.classes[match[1]] = match[2]
        elif match := _EDGE.fullmatch(line):
            chart.edges.add((match[1], match[2], match[3]))
        elif line != "direction TB":
            match = _NODE.fullmatch(line)
            assert match and match[1] not in names, line
            names.add(match[1])
            boxes[-1].nodes.append(_text(match[2]))
            if match[3]:
                chart.classes[match[1]] = match[3]
    assert inside == [chart.boxes] and not boxes, "a subgraph has no end"
    assert {name for edge in chart.edges for name in (edge[0], edge[2])} <= names
    assert set(chart.classes) <= names and set(chart.classes.values()) <= defined
    return chart


def _text(label: str) -> str:
    return re.sub(r"#(\d+);", lambda match: chr(int(match[1])), label)
