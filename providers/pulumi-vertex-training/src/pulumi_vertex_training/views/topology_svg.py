"""Draw the worker pools of a job as an SVG picture, with one mark for each replica.

The picture follows its reader: as a file it is dark where the reader's system is, and in a page it has the
page's colour, because every text is drawn in `currentColor`. It has no script, no link and no font of its
own, and its style names only the root of a file, so that it can be a part of any page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from unicodedata import east_asian_width

from pulumi_vertex_training.views.pools_view import machine_and_accelerators, role_in_words
from vertex_training.findings.words import counted, visible
from vertex_training.topology.pools import WorkerPoolSpec
from vertex_training.topology.roles import EVALUATORS, MAX_POOLS, replica_name

_COLOURS = ("#3b82f6", "#22a55b", "#8b5cf6", "#d08700")
"""The colour of each role: seen on white and on black, and never the only sign, as each box has a title."""

_STYLE = "svg:root{color:#1f2328}@media(prefers-color-scheme:dark){svg:root{color:#e6edf3}}"

_MOST_NAMED = 4
"""Up to so many replicas of a pool are drawn with their names, more of them as squares."""

_MOST_SQUARES = 400
"""A pool with more replicas is drawn as one box with their number."""

_MARGIN = 12
_WIDTH = 216
_GAP = 20
_INSET = 14
_HEAD = 70
_NAMED_HEIGHT, _NAMED_STEP = 26, 32
_SQUARE, _STEP = 11, 16
_IN_A_ROW = (_WIDTH - 2 * _INSET + _STEP - _SQUARE) // _STEP
_FOOT = 24
_TITLE = 28
_CAPTION = 30


@dataclass(frozen=True, kw_only=True)
class _Box:
    """A pool with replicas, and where it is drawn."""

    index: int
    pool: WorkerPoolSpec
    left: int
    top: int

    @property
    def count(self) -> int:
        return self.pool.replica_count

    @property
    def colour(self) -> str:
        return _COLOURS[self.index]

    @property
    def height(self) -> int:
        """The height that the pool needs."""
        if self.count <= _MOST_NAMED:
            return _HEAD + self.count * _NAMED_STEP + _INSET - (_NAMED_STEP - _NAMED_HEIGHT)
        rows = -(-self.count // _IN_A_ROW) if self.count <= _MOST_SQUARES else 2
        return _HEAD + rows * _STEP + _FOOT


def picture(pools: Sequence[WorkerPoolSpec]) -> str:
    """Return the pools as an SVG document, "" for a job without replicas."""
    present = [(i, pool) for i, pool in enumerate(pools[:MAX_POOLS]) if not pool.is_empty]
    if not present:
        return ""
    top = _MARGIN + _TITLE
    cluster = sum(index != EVALUATORS for index, _ in present)
    framed, evaluated = cluster > 1, cluster == len(present) - 1 > 0
    # The frame around the cluster needs space on its sides, and below for its caption.
    left = _MARGIN + (_INSET if framed else 0)
    boxes = [
        _Box(
            index=index,
            pool=pool,
            left=left + position * (_WIDTH + _GAP) + (_INSET if framed and index == EVALUATORS else 0),
            top=top + (_INSET if framed else 0),
        )
        for position, (index, pool) in enumerate(present)
    ]
    height = max(box.height for box in boxes)
    last = boxes[-1]
    right = last.left + _WIDTH + (_INSET if framed and last.index != EVALUATORS else 0)
    bottom = boxes[0].top + height + (_CAPTION if framed or evaluated else 0)
    words = _summary(present)
    width = right + _MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom + _MARGIN}" '
            f'width="{width}" height="{bottom + _MARGIN}" role="img" aria-label="{_escaped(words)}" '
            'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" '
            'font-size="12" fill="currentColor">',
            f"<title>{_escaped(words)}</title>",
            f"<style>{_STYLE}</style>",
            _text(_MARGIN, _MARGIN + 12, words, width - 2 * _MARGIN, size=13, weight=600),
            *(_frame(boxes[:cluster], top, height) if framed else ()),
            *(line for box in boxes for line in _pool(box, height)),
            *(_to_evaluator(boxes[0], last, height) if evaluated else ()),
            "</svg>",
        ]
    )


def _summary(present: Sequence[tuple[int, WorkerPoolSpec]]) -> str:
    count = sum(pool.replica_count for _, pool in present)
    roles = ", ".join(f"{role_in_words(index, pool)} {pool.replica_count:,}" for index, pool in present)
    return f"{counted(count, 'replica')}: {roles}"


def _frame(boxes: Sequence[_Box], top: int, height: int) -> Iterator[str]:
    """Yield the frame around the pools that talk to each other, with its caption."""
    left, right = boxes[0].left - _INSET, boxes[-1].left + _WIDTH + _INSET
    bottom = top + _INSET + height + _CAPTION
    yield (
        f'<rect x="{left}" y="{top}" width="{right - left}" height="{bottom - top}" rx="12" '
        'fill="none" stroke="currentColor" stroke-opacity="0.35"/>'
    )
    yield _text(
        boxes[0].left + 32,
        bottom - 11,
        "one cluster: each replica can reach every other",
        right - left - 2 * _INSET - 32,
        size=11,
        opacity=0.75,
    )


def _to_evaluator(chief: _Box, evaluator: _Box, height: int) -> Iterator[str]:
    """Yield the dotted line from the chief to the evaluator, below the boxes, with its caption."""
    bottom = chief.top + height
    y, x1, x2 = bottom + _CAPTION + 6, chief.left + 20, evaluator.left + 20
    yield (
        f'<path d="M{x1} {bottom}V{y}H{x2}V{bottom}" fill="none" stroke="currentColor" stroke-opacity="0.6" '
        'stroke-dasharray="3 4"/>'
    )
    yield _text(x2 + 12, bottom + 19, "reads what the chief saves", _WIDTH - 32, size=11, opacity=0.75)


def _pool(box: _Box, height: int) -> Iterator[str]:
    """Yield a pool: its box as high as the highest, its role, its machine and its replicas."""
    colour, left, top = box.colour, box.left, box.top
    role, inner = role_in_words(box.index, box.pool), _WIDTH - 2 * _INSET
    machine, accelerators = machine_and_accelerators(box.pool)
    whole = f"{role}: {box.count:,} x {machine}" + (f" with {accelerators}" if accelerators else "")
    yield f"<g><title>{_escaped(whole)}</title>"
    yield (
        f'<rect x="{left}" y="{top}" width="{_WIDTH}" height="{height}" rx="10" fill="{colour}" '
        f'fill-opacity="0.1" stroke="{colour}" stroke-width="1.5"/>'
    )
    yield _text(left + _INSET, top + 22, f"{role} ({box.count:,})", inner, size=14, weight=600)
    yield _text(left + _INSET, top + 41, machine, inner, size=11, opacity=0.75)
    if accelerators:
        yield _text(left + _INSET, top + 57, accelerators, inner, size=11, opacity=0.75)
    yield "</g>"
    yield f'<g fill="{colour}" fill-opacity="0.25" stroke="{colour}">'
    yield from _marks(box)
    yield "</g>"
    yield from _names(box)


def _marks(box: _Box) -> Iterator[str]:
    """Yield the shapes of the replicas: boxes for a few, squares for many, one box for very many."""
    left, top, wide = box.left + _INSET, box.top + _HEAD, _WIDTH - 2 * _INSET
    if box.count <= _MOST_NAMED:
        for number in range(box.count):
            yield _rect(left, top + number * _NAMED_STEP, wide, _NAMED_HEIGHT, radius=6)
    elif box.count <= _MOST_SQUARES:
        for number in range(box.count):
            row, column = divmod(number, _IN_A_ROW)
            name = replica_name(box.index, number)
            yield _rect(left + column * _STEP, top + row * _STEP, _SQUARE, _SQUARE, radius=2, title=name)
    else:
        yield _rect(left, top, wide, _NAMED_HEIGHT, radius=6)


def _names(box: _Box) -> Iterator[str]:
    """Yield the names of the replicas: in their boxes, or of the first and the last one below."""
    left, top, wide = box.left + _INSET, box.top + _HEAD, _WIDTH - 2 * _INSET
    if box.count <= _MOST_NAMED:
        for number in range(box.count):
            name = replica_name(box.index, number)
            yield _text(left + 10, top + number * _NAMED_STEP + 17, name, wide - 20)
        return
    ends = f"{replica_name(box.index, 0)} to -{box.count - 1}"
    if box.count <= _MOST_SQUARES:
        y = top + -(-box.count // _IN_A_ROW) * _STEP + 12
    else:
        y = top + 44
        yield _text(left + 10, top + 17, f"{box.count:,} replicas", wide - 20)
    yield _text(left, y, ends, wide, size=11, opacity=0.75)


def _rect(x: int, y: int, width: int, height: int, *, radius: int, title: str = "") -> str:
    shape = f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="{radius}"'
    return f"{shape}><title>{_escaped(title)}</title></rect>" if title else f"{shape}/>"


def _text(
    x: int, y: int, text: str, width: int, *, size: int = 12, weight: int = 0, opacity: float = 1.0
) -> str:
    """Return a text that is cut to a width in pixels; the whole text is shown when it is pointed at."""
    shown = _cut(visible(text), width, size)
    more = f' font-weight="{weight}"' if weight else ""
    more += f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
    more += f' font-size="{size}"' if size != 12 else ""
    whole = f"<title>{_escaped(text)}</title>" if shown != visible(text) else ""
    return f'<text x="{x}" y="{y}"{more}>{_escaped(shown)}{whole}</text>'


def _cut(text: str, width: int, size: int) -> str:
    """Cut a text to a width by the widest letters that fonts usually have, as no font is known here."""
    narrow = size * 0.58
    widths = [narrow * (1.8 if east_asian_width(one) in "WF" else 1.0) for one in text]
    if sum(widths) <= width:
        return text
    used, kept = 3 * narrow, 0
    while kept < len(text) and used + widths[kept] <= width:
        used += widths[kept]
        kept += 1
    return f"{text[:kept].rstrip()}..."


def _escaped(text: str) -> str:
    """Return a text for XML, in an element or in an attribute."""
    return escape(visible(text), quote=True)
