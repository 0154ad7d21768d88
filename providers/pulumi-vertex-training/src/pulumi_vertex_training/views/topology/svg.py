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

from pulumi_vertex_training.views.topology.drawing import APART, CLUSTER, GROUP, Box, Drawing, drawing_of
from vertex_training.findings.words import counted, visible
from vertex_training.topology.pools import WorkerPoolSpec

_COLOURS = ("#3b82f6", "#22a55b", "#8b5cf6", "#d08700")
"""The colour of each role: seen on white and on black, and never the only sign, as each box has a title."""

_STYLE = "svg:root{color:#1f2328}@media(prefers-color-scheme:dark){svg:root{color:#e6edf3}}"

_MARGIN = 12
_GAP, _ARROW = 14, 44
"""Between two boxes of the cluster, and between the cluster and the evaluator."""
_INSET = 14
_WIDEST_TEXT, _WIDEST_TITLE = 280, 560
_HEAD = 70
_NAMED_HEIGHT, _NAMED_STEP = 26, 32
_SQUARE, _STEP, _BETWEEN_GROUPS = 11, 15, 4
_FOOT = 22
_TITLE = 28
_CAPTION = 26
_TITLE_SIZE, _ROLE_SIZE, _TEXT_SIZE, _SMALL = 13, 14, 12, 11


@dataclass(frozen=True, kw_only=True)
class _Placed:
    """A box, and where it is drawn."""

    box: Box
    left: int
    top: int

    @property
    def right(self) -> int:
        return self.left + _width(self.box)

    @property
    def bottom(self) -> int:
        return self.top + _height(self.box)

    @property
    def colour(self) -> str:
        return _COLOURS[self.box.index]


def picture(pools: Sequence[WorkerPoolSpec], *, hourly: str = "") -> str:
    """Return the pools as an SVG document, "" for a job without replicas."""
    drawing = drawing_of(pools, hourly=hourly)
    if not drawing.boxes:
        return ""
    framed = len(drawing.cluster) > 1
    placed = list(_placed(drawing, framed=framed))
    bottom = max(one.bottom for one in placed)
    if framed:
        bottom = max(one.bottom for one in placed if not one.box.is_apart) + _CAPTION + _INSET // 2
        bottom = max(bottom, placed[-1].bottom)
    inset = _INSET if framed and not placed[-1].box.is_apart else 0
    title = min(round(_long(drawing.totals, _TITLE_SIZE, bold=True)), _WIDEST_TITLE)
    width = max(placed[-1].right + inset, _MARGIN + title) + _MARGIN
    height = bottom + _MARGIN
    words = f"{counted(sum(box.count for box in drawing.boxes), 'replica')}: {drawing.roles}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img" aria-label="{_escaped(words)}" '
            'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" '
            'font-size="12" fill="currentColor">',
            f"<title>{_escaped(words)}</title>",
            f"<style>{_STYLE}</style>",
            _text(_MARGIN, _MARGIN + 12, drawing.totals, width - 2 * _MARGIN, size=_TITLE_SIZE, weight=600),
            *(_frame([one for one in placed if not one.box.is_apart], bottom) if framed else ()),
            *(line for one in placed for line in _pool(one)),
            *(_arrow(placed, framed=framed) if drawing.apart is not None else ()),
            "</svg>",
        ]
    )


def _placed(drawing: Drawing, *, framed: bool) -> Iterator[_Placed]:
    """Yield the boxes from left to right, each as wide and as high as its content."""
    inset = _INSET if framed else 0
    left, top = _MARGIN + inset, _MARGIN + _TITLE + inset
    for box in drawing.boxes:
        if box.is_apart and drawing.cluster:
            left += inset + _ARROW - _GAP
        yield _Placed(box=box, left=left, top=top)
        left += _width(box) + _GAP


def _width(box: Box) -> int:
    """Return the width that a box needs for its texts and its marks."""
    texts = [
        _long(_heading(box), _ROLE_SIZE, bold=True),
        _long(box.machine, _SMALL),
        _long(box.accelerators, _SMALL),
        _long(APART, _SMALL) if box.is_apart else 0,
        _long(box.ends, _SMALL) if box.marks != "names" else _long(box.names[-1], _TEXT_SIZE) + 20,
    ]
    marks = _scale(box) + _across(box, box.columns) - _STEP + _SQUARE if box.marks == "squares" else 0
    return round(max(min(max(texts), _WIDEST_TEXT), marks)) + 2 * _INSET


def _height(box: Box) -> int:
    foot = _FOOT - 6 if box.is_apart else 0
    if box.marks == "names":
        return _HEAD + box.count * _NAMED_STEP + _INSET - (_NAMED_STEP - _NAMED_HEIGHT) + foot
    return _HEAD + (_rows(box) * _STEP if box.marks == "squares" else _NAMED_STEP) + _FOOT + foot


def _rows(box: Box) -> int:
    return -(-box.count // box.columns)


def _across(box: Box, column: int) -> int:
    """Return where a column begins: groups stand a little apart."""
    return column * _STEP + (column - (column == box.columns)) // GROUP * _BETWEEN_GROUPS


def _scale(box: Box) -> int:
    """Return the width of the numbers beside the rows; 0 for one row."""
    return 10 + round(_long(str(box.count), 9)) if _rows(box) > 1 else 0


def _heading(box: Box) -> str:
    return f"{box.role} ({box.count:,})"


def _frame(cluster: Sequence[_Placed], bottom: int) -> Iterator[str]:
    """Yield the frame around the pools that talk to each other, with its caption."""
    left, right = cluster[0].left - _INSET, cluster[-1].right + _INSET
    top = cluster[0].top - _INSET
    yield (
        f'<rect x="{left}" y="{top}" width="{right - left}" height="{bottom - top}" rx="12" '
        'fill="none" stroke="currentColor" stroke-opacity="0.35"/>'
    )
    wide = right - left - 2 * _INSET
    yield _text(cluster[0].left, bottom - 11, CLUSTER, wide, size=_SMALL, opacity=0.75)


def _arrow(placed: Sequence[_Placed], *, framed: bool) -> Iterator[str]:
    """Yield the dotted arrow from the cluster to the evaluator."""
    last, evaluator = placed[-2], placed[-1]
    x1, x2, y = last.right + (_INSET if framed else 0) + 6, evaluator.left - 6, evaluator.top + 34
    yield (
        f'<path d="M{x1} {y}H{x2}" fill="none" stroke="currentColor" stroke-opacity="0.6" '
        'stroke-dasharray="3 4"/>'
    )
    yield f'<path d="M{x2 - 6} {y - 5}L{x2} {y}L{x2 - 6} {y + 5}" fill="none" stroke="currentColor"/>'


def _pool(one: _Placed) -> Iterator[str]:
    """Yield a pool: its box, its role, its machine and its replicas."""
    box, colour, left, top = one.box, one.colour, one.left, one.top
    inner = _width(box) - 2 * _INSET
    whole = f"{box.role}: {box.count:,} x {box.machine}" + (
        f" with {box.accelerators}" if box.accelerators else ""
    )
    yield f"<g><title>{_escaped(whole)}</title>"
    dashes = ' stroke-dasharray="5 4"' if box.is_apart else ""
    yield (
        f'<rect x="{left}" y="{top}" width="{_width(box)}" height="{_height(box)}" rx="10" fill="{colour}" '
        f'fill-opacity="0.1" stroke="{colour}" stroke-width="1.5"{dashes}/>'
    )
    yield _text(left + _INSET, top + 22, _heading(box), inner, size=_ROLE_SIZE, weight=600)
    yield _text(left + _INSET, top + 41, box.machine, inner, size=_SMALL, opacity=0.75)
    if box.accelerators:
        yield _text(left + _INSET, top + 57, box.accelerators, inner, size=_SMALL, opacity=0.75)
    if box.is_apart:
        yield _text(left + _INSET, one.bottom - 10, APART, inner, size=_SMALL, opacity=0.75)
    yield "</g>"
    yield f'<g fill="{colour}" fill-opacity="0.25" stroke="{colour}">'
    yield from _marks(one, inner)
    yield "</g>"
    yield from _names(one, inner)


def _marks(one: _Placed, wide: int) -> Iterator[str]:
    """Yield the shapes of the replicas: boxes for a few, squares for many, one box for very many."""
    box, left, top = one.box, one.left + _INSET, one.top + _HEAD
    if box.marks == "names":
        for number in range(box.count):
            yield _rect(left, top + number * _NAMED_STEP, wide, _NAMED_HEIGHT, radius=6)
    elif box.marks == "squares":
        for number, name in enumerate(box.names):
            row, column = divmod(number, box.columns)
            x, y = left + _scale(box) + _across(box, column), top + row * _STEP
            yield _rect(x, y, _SQUARE, _SQUARE, radius=2, title=name)
    else:
        yield _rect(left, top, wide, _NAMED_HEIGHT, radius=6)


def _names(one: _Placed, wide: int) -> Iterator[str]:
    """Yield the names of the replicas: in their boxes, or the numbers of the rows and the ends below."""
    box, left, top = one.box, one.left + _INSET, one.top + _HEAD
    if box.marks == "names":
        for number, name in enumerate(box.names):
            yield _text(left + 10, top + number * _NAMED_STEP + 17, name, wide - 20)
        return
    y = top + 44
    if box.marks == "squares":
        y = top + _rows(box) * _STEP + 12
        for row in range(_rows(box) if _scale(box) else 0):
            first = str(row * box.columns)
            yield _text(left, top + row * _STEP + 9, first, _scale(box), size=9, opacity=0.75)
    else:
        yield _text(left + 10, top + 17, f"{box.count:,} replicas", wide - 20)
    yield _text(left, y, box.ends, wide, size=_SMALL, opacity=0.75)


def _rect(x: int, y: int, width: int, height: int, *, radius: int, title: str = "") -> str:
    shape = f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="{radius}"'
    return f"{shape}><title>{_escaped(title)}</title></rect>" if title else f"{shape}/>"


def _text(
    x: int, y: int, text: str, width: int, *, size: int = _TEXT_SIZE, weight: int = 0, opacity: float = 1.0
) -> str:
    """Return a text that is cut to a width in pixels; the whole text is shown when it is pointed at."""
    shown = _cut(visible(text), width, size, bold=bool(weight))
    more = f' font-weight="{weight}"' if weight else ""
    more += f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
    more += f' font-size="{size}"' if size != _TEXT_SIZE else ""
    whole = f"<title>{_escaped(text)}</title>" if shown != visible(text) else ""
    return f'<text x="{x}" y="{y}"{more}>{_escaped(shown)}{whole}</text>'


def _long(text: str, size: int, *, bold: bool = False) -> float:
    """Return the width of a text in pixels, with wide letters: the font of the reader is not known here."""
    return sum(_widths(visible(text), size, bold=bold))


def _widths(text: str, size: int, *, bold: bool) -> list[float]:
    narrow = size * (0.62 if bold else 0.58)
    return [narrow * (1.8 if east_asian_width(one) in "WF" else 1.0) for one in text]


def _cut(text: str, width: int, size: int, *, bold: bool) -> str:
    widths = _widths(text, size, bold=bold)
    if sum(widths) <= width + 1:
        return text
    used, kept = 3 * _long(".", size, bold=bold), 0
    while kept < len(text) and used + widths[kept] <= width:
        used += widths[kept]
        kept += 1
    return f"{text[:kept].rstrip()}..."


def _escaped(text: str) -> str:
    """Return a text for XML, in an element or in an attribute."""
    return escape(visible(text), quote=True)
