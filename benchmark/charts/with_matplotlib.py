"""Charts as pictures: `to_matplotlib` draws a chart in one style, `picture_files` returns it as PNG and SVG."""

import io
import math
import signal
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import FixedFormatter, FixedLocator, LogLocator, MaxNLocator, NullFormatter, NullLocator
from matplotlib.transforms import Affine2D

from benchmark.charts.chart import (
    FAINT,
    INK,
    MAX_ENTRIES,
    Axis,
    Cell,
    Chart,
    Level,
    Matrix,
    Panel,
    Series,
    multiples_of_ten,
    power_of_ten,
)
from benchmark.charts.label_placement import place_names, place_panel_labels, text_size, wrapped
from data_pipelines.data_label import is_generated
from data_pipelines.support.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 9.6
"""Width of all pictures in inches."""

DOTS_PER_INCH = 150
WARNING, STRIP, EDGE = "#a3360b", "#f1f3f5", "#9ca3af"
RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # part of matplotlib, so that every machine draws the same
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e5e7eb",
    "grid.linewidth": 0.7,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "svg.fonttype": "none",  # keep text as text, for search and screen readers
    "svg.hashsalt": "fedbandit",  # the same picture gives the same bytes
}
TITLE_SIZE, NOTE_SIZE, TICK_SIZE, LABEL_SIZE = 12.0, 7.5, 9.0, 6.5
BOLD = 1.14
"""Width of bold text relative to regular text."""

MARK_RADIUS = 4.2
LEADER = 12.0
"""The length of the connection between a level and its name beside the panel."""

INSET = (0.57, 0.42, 0.41, 0.42)
"""The left and lower edge of an inset, its width and its height, as shares of the panel."""

LINE, MARGIN, GAP, BOX = 0.145, 0.1, 0.04, 0.35
"""A matrix, in inches: a line of text, the space around it, between columns, and the width of a colour's sample."""


def picture_files(chart: Chart) -> dict[str, bytes]:
    """Return the picture as PNG and as SVG, with searchable text, by suffix; equal charts give equal bytes."""
    canvas, files = to_matplotlib(chart), {}
    texts: dict[str, Any] = {"metadata": {"Date": None, "Title": chart.title}}
    for kind, options in (("png", {}), ("svg", texts)):
        buffer = io.BytesIO()
        with rc_context(RC):
            canvas.savefig(buffer, format=kind, dpi=DOTS_PER_INCH, **options)
        files[f".{kind}"] = buffer.getvalue()
    return files


def save_picture(chart: Chart, folder: Path) -> None:
    """Write the picture as PNG and SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    for suffix, content in picture_files(chart).items():
        write_whole(folder / f"{chart.name}{suffix}", content)


def ignore_interrupt() -> None:
    """Let the parent of a process that draws handle Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def to_matplotlib(chart: Chart, axes: "Axes | None" = None) -> Canvas:
    """Draw a chart; with `axes`, draw its only panel into them instead, with a legend of its own."""
    with rc_context(RC):
        if axes is not None:
            (panel,) = chart.plain_panels
            owner: Any = axes.get_figure(root=True)  # also of axes inside a part of a figure
            frame = axes.get_window_extent()
            _draw_panel(axes, panel, (frame.width * 72 / owner.dpi, frame.height * 72 / owner.dpi))
            axes.legend(*zip(*_legend(chart), strict=True))
            axes.set_title(chart.title)
            return cast(Canvas, owner)
        (matrix,) = [panel for panel in chart.panels if isinstance(panel, Matrix)] or (None,)
        canvas = _draw_panels(chart) if matrix is None else _draw_matrix(matrix, chart.labels)
        FigureCanvasAgg(canvas)
        canvas.set_dpi(DOTS_PER_INCH)  # the width of small text depends on it
        _write_header(canvas, chart)
    return canvas


def frames(panels: Sequence[Panel]) -> list[tuple[float, float]]:
    """Return the left edges and widths of panels side by side, each with space for its axis and names beside it."""
    lefts, rights = [], []
    for panel in panels:
        lefts.append(0.4 + max((text_size(text, TICK_SIZE)[0] for _, text in _ticks(panel.y)), default=0) / 72)
        names = [text_size(level.name, NOTE_SIZE)[0] + LEADER for level in panel.levels if level.name]
        rights.append(0.18 + (max(names, default=0) / 72 if panel.names_beside else 0))
    share = (WIDTH - sum(lefts) - sum(rights)) / sum(panel.share for panel in panels)
    result, x = [], 0.0
    for panel, left, right in zip(panels, lefts, rights, strict=True):
        result.append((x + left, share * panel.share))
        x += left + share * panel.share + right
    return result


def omitted_labels(panel: Panel, height: float) -> list[str]:
    """Return the labels of the only panel of a picture for which there is no space, each with its series."""
    ((_, width),) = frames([panel])
    placed = place_panel_labels(panel, (width * 72, height * 72), LABEL_SIZE, MARK_RADIUS)
    return [f"{label.owner} {label.text}".strip() for label, placement in placed if placement is None]


def _header_lines(labels: Sequence[str]) -> list[tuple[str, bool]]:
    """Break data labels into lines that fit the picture, each with whether the data are generated."""
    return [(line, is_generated(label)) for label in labels for line in textwrap.wrap(label, int(WIDTH * 14.5))]


def _header_height(labels: Sequence[str]) -> float:
    return 0.42 + 0.155 * len(_header_lines(labels)) + (0.06 if labels else 0.0)


def _write_header(canvas: Canvas, chart: Chart) -> None:
    """Write the title, and the labels of the data below it, into the picture."""
    width, height = canvas.get_size_inches()
    available = (width - 0.28) * 72
    size = min(TITLE_SIZE, TITLE_SIZE * available / (text_size(chart.title, TITLE_SIZE)[0] * BOLD))
    canvas.text(0.14 / width, 1 - 0.12 / height, chart.title, fontsize=size, weight="bold", va="top")
    for number, (line, is_warning) in enumerate(_header_lines(chart.labels)):
        y, colour = 1 - (0.42 + 0.155 * number) / height, WARNING if is_warning else FAINT
        canvas.text(
            0.14 / width, y, line, fontsize=8, color=colour, weight="bold" if is_warning else "normal", va="top"
        )


def _draw_panels(chart: Chart) -> Canvas:
    """Draw the panels side by side, the legend below them."""
    panels, entries = chart.plain_panels, _legend(chart)
    columns = _legend_columns([text for _, text in entries])
    below = max(_height_below(panel.x) for panel in panels) + 0.2 * math.ceil(len(entries) / columns)
    above = max(0.4 if panel.x.above else 0.26 if panel.title else 0.1 for panel in panels)
    height = below + chart.height + above + _header_height(chart.labels)
    canvas = Canvas(figsize=(WIDTH, height))
    for panel, (left, width) in zip(panels, frames(panels), strict=True):
        place = (left / WIDTH, below / height, width / WIDTH, chart.height / height)
        _draw_panel(canvas.add_axes(place), panel, (width * 72, chart.height * 72))
    if entries:
        by_rows = [entry for column in range(columns) for entry in entries[column::columns]]  # not column by column
        at: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 0.06 / height), "borderaxespad": 0}
        canvas.legend(*zip(*by_rows, strict=True), ncols=columns, **at)
    return canvas


def _height_below(axis: Axis) -> float:
    """Return the height of ticks and label below a panel in inches, and a little space."""
    widest = max((text_size(text, 8)[0] for _, text in axis.ticks), default=0) if axis.angle else 0
    return 0.58 + math.sin(math.radians(axis.angle)) * widest / 72


def _legend(chart: Chart) -> list[tuple[Any, str]]:
    """Return handles and texts of the legend; what does not fit is counted in its last entry."""
    items = chart.legend()
    shown = items if len(items) <= MAX_ENTRIES else items[: MAX_ENTRIES - 1]
    entries: list[tuple[Any, str]] = [(_handle(item), item.label) for item in shown]
    if len(shown) < len(items):
        entries.append((Line2D([], [], linestyle="none"), f"and {len(items) - len(shown)} more: see the table"))
    return entries


def _handle(item: Series | Level) -> Any:
    if isinstance(item, Series) and item.has_band and not item.line:
        return Patch(facecolor=item.colour, alpha=_band_opacity(item), linewidth=0)
    if isinstance(item, Series):
        size = {"markersize": max(item.size, 7)} if item.marker else {}
        return Line2D([], [], **(_mark(item) | size), **_stroke(item))
    line = Line2D([], [], color=item.colour, **_stroke(item))
    return (_area(item), line) if item.band and item.line else _area(item) if item.band else line


def _area(level: Level) -> Patch:
    return Patch(facecolor=level.colour, alpha=0.18, linewidth=0)


def _legend_columns(texts: Sequence[str]) -> int:
    """Return the number of columns of a legend with the fewest rows within the picture's width."""
    size = float(RC["legend.fontsize"])
    for columns in range(len(texts), 1, -1):
        if math.ceil(len(texts) / columns) < math.ceil(len(texts) / (columns - 1)) or columns == len(texts):
            widest = [max(text_size(text, size)[0] for text in texts[column::columns]) for column in range(columns)]
            handles, gaps, border = 2.8 * columns, 2.0 * (columns - 1), 0.8  # matplotlib's sizes
            if sum(widest) + (handles + gaps + border) * size <= WIDTH * 72 - 12:
                return columns
    return 1


def _draw_panel(axes: Any, panel: Panel, size: tuple[float, float]) -> None:
    """Draw a panel of this size (points)."""
    _set_axis(axes, "x", panel.x)
    _set_axis(axes, "y", panel.y)
    for item in panel.items:
        _draw_series(axes, panel, item) if isinstance(item, Series) else _draw_level(axes, item)
    if panel.title:
        above = 20 if panel.x.above else 4
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5}
        look = {"xycoords": "axes fraction", "textcoords": "offset points", "ha": "right", "bbox": box}
        axes.annotate(panel.title, (1, 1), (0, above), fontsize=NOTE_SIZE, color=FAINT, **look)
    if panel.remark:
        corner = {"ha": "right", "va": "bottom", "transform": axes.transAxes}
        axes.text(0.995, 0.008, panel.remark, fontsize=NOTE_SIZE, color=FAINT, **corner)
    if panel.inset is not None:
        inset = axes.inset_axes(INSET)
        _draw_panel(inset, panel.inset, (size[0] * INSET[2], size[1] * INSET[3]))
        inset.tick_params(labelsize=7)
        inset.patch.set_alpha(0.92)
    _write_names(axes, panel, size)
    _write_labels(axes, panel, size)


def _set_axis(axes: Any, name: str, axis: Axis) -> None:
    """Set the scale, range, label and ticks of the axis x or y, and draw its zero."""
    label = f"{axis.label}, {axis.note}" if axis.note else axis.label
    axes.set(**{f"{name}scale": "log" if axis.is_log else "linear", f"{name}lim": axis.range, f"{name}label": label})
    drawn = axes.xaxis if name == "x" else axes.yaxis
    _set_ticks(drawn, _ticks(axis))
    low, high = axis.border or axis.range[0], axis.range[1]
    if axis.is_log and high <= 1e8 * low:  # ticks without texts between the decades
        drawn.set_minor_locator(FixedLocator(multiples_of_ten(low, high, range(2, 10))))
    if axis.angle:
        for text in drawn.get_ticklabels():
            text.set(rotation=axis.angle, ha="right", rotation_mode="anchor", fontsize=8)
    if not axis.has_grid:
        drawn.grid(visible=False)
    if axis.has_zero_line:
        (axes.axvline if name == "x" else axes.axhline)(0, color=EDGE, linewidth=0.7, zorder=1)
    if axis.zero is not None and axis.border is not None:
        axes.axvspan(axis.range[0], axis.border, color=STRIP, zorder=0.5, linewidth=0)
        axes.axvline(axis.border, color=EDGE, linewidth=0.8, linestyle=(0, (2, 2)), zorder=1)
    if axis.above is not None:
        second = axes.secondary_xaxis("top")
        _set_ticks(second.xaxis, axis.above.ticks)
        second.tick_params(labelsize=NOTE_SIZE, length=2.5, pad=1.5)
        second.set_xlabel(axis.above.label, fontsize=NOTE_SIZE, loc="left", labelpad=1.5)


def _set_ticks(drawn: Any, ticks: Sequence[tuple[float, str]]) -> None:
    drawn.set_major_locator(FixedLocator([value for value, _ in ticks]))
    drawn.set_major_formatter(FixedFormatter([text for _, text in ticks]))
    drawn.set_minor_locator(NullLocator())
    drawn.set_minor_formatter(NullFormatter())


def _ticks(axis: Axis) -> list[tuple[float, str]]:
    """Return the ticks of an axis: its own, or round numbers inside its range."""
    if axis.ticks:
        return list(axis.ticks)
    low, high = axis.range
    if not axis.is_log:
        values = MaxNLocator(8, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    elif high > 2000 * low:
        first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
        return [(10.0**power, power_of_ten(power)) for power in range(first, last + 1, 1 + (last - first) // 9)]
    else:
        values = LogLocator(subs=(1, 2, 5) if high > 4 * low else range(1, 10)).tick_values(low, high)
    inside = [float(value) for value in values if low <= value <= high]
    decimals = max((len(f"{value:.9f}".rstrip("0").partition(".")[2]) for value in inside), default=0)
    texts = [f"{value:,g}" if axis.is_log else f"{value:,.{decimals}f}" for value in inside]
    return [(value, text.replace("-", "−")) for value, text in zip(inside, texts, strict=True)]


def _stroke(item: Series | Level) -> dict[str, Any]:
    """Return matplotlib's settings of a line."""
    dashes: dict[str, Any] = {"": "none", "-": "-", "steps": "-", "--": (0, (5, 2)), ":": (0, (1, 2.5))}
    if isinstance(item, Series) and item.line == "--":
        dashes["--"] = "--"
    steps = {"drawstyle": "steps-post"} if item.line == "steps" else {}
    return {"linestyle": dashes[item.line], "linewidth": item.width, **steps}


def _mark(series: Series) -> dict[str, Any]:
    """Return matplotlib's settings of marks."""
    size = series.size * (1.3 if series.marker == "*" else 1)  # a star has less area than the other marks
    look = {"color": series.colour, "marker": series.marker.replace(".", "o") or "none", "markersize": size}
    if series.marker == "x":
        return look | {"markeredgewidth": 1.2}
    if series.is_hollow:
        return look | {"markerfacecolor": "white", "markeredgewidth": 1.1}
    return look | {"markeredgecolor": "white", "markeredgewidth": 0.6 if series.opacity == 1 else 0.0}


def _draw_series(axes: Any, panel: Panel, series: Series) -> None:
    x, y = np.asarray(series.x), np.asarray(series.y)
    if series.line:
        axes.plot(x, y, color=series.colour, alpha=series.opacity, zorder=2, **_stroke(series))
    if series.y_interval is not None:
        least = panel.y.range[0] / 2 if panel.y.is_log else -math.inf  # no logarithm below zero
        low, high = np.maximum(series.y_interval[0], least), np.asarray(series.y_interval[1])
        if series.has_band:
            axes.fill_between(x, low, high, color=series.colour, alpha=_band_opacity(series), linewidth=0)
        elif np.isfinite(low).any():
            axes.vlines(x, low, high, color=series.colour, linewidth=1.1, alpha=0.8, zorder=2.5)
    if series.x_interval is not None and np.isfinite(series.x_interval[0]).any():
        axes.hlines(y, *series.x_interval, color=series.colour, linewidth=1.1, alpha=0.8, zorder=2.5)
    if series.marker:
        opacity = 1.0 if series.line else series.opacity
        order = 4 if series.hover else 3
        axes.plot(x, y, linestyle="none", alpha=opacity, zorder=order, clip_on=len(x) > 50, **_mark(series))


def _band_opacity(series: Series) -> float:
    return 0.1 if series.line else series.opacity


def _draw_level(axes: Any, level: Level) -> None:
    if level.band:
        span = axes.axvspan if level.is_vertical else axes.axhspan
        span(*level.band, color=level.colour, alpha=0.18, linewidth=0, zorder=0.6)
    if level.line:
        line = axes.axvline if level.is_vertical else axes.axhline
        line(level.value, color=level.colour, alpha=0.9, zorder=1.6, **_stroke(level))


def _in_points(axes: Any, size: tuple[float, float]) -> Any:
    """Return the transformation of points from the lower left corner of a panel."""
    return Affine2D().scale(1 / size[0], 1 / size[1]) + axes.transAxes


def _write_names(axes: Any, panel: Panel, size: tuple[float, float]) -> None:
    """Write the names of levels on their lines, or beside the panel, each connected to its line."""
    at = _in_points(axes, size)
    for name in place_names(panel, size, NOTE_SIZE if panel.names_beside else LABEL_SIZE):
        left, bottom, right, _ = name.box
        if panel.names_beside:
            y = float(panel.y.share(name.level.value)) * size[1]
            ends = ([left, left + LEADER - 2], [y, bottom])
            axes.add_line(Line2D(*ends, transform=at, color=FAINT, linewidth=0.5, clip_on=False))
            look: dict[str, Any] = {"va": "center", "fontsize": NOTE_SIZE, "color": FAINT}
            axes.text(left + LEADER, bottom, name.level.name, transform=at, gid="line-name", **look)
        else:
            look = {"ha": "right", "va": "bottom", "fontsize": LABEL_SIZE, "color": _darker(name.level.colour)}
            axes.text(right, bottom, name.level.name, transform=at, gid="line-name", zorder=1.7, **look)


def _write_labels(axes: Any, panel: Panel, size: tuple[float, float]) -> None:
    """Write the labels of marks, connected to their marks by a line if these are far away."""
    at = _in_points(axes, size)
    for label, placement in place_panel_labels(panel, size, LABEL_SIZE, MARK_RADIUS):
        if placement is None:
            continue
        colour = INK if label.is_disc else _darker(label.colour)
        if placement.leader is not None:
            x0, y0, x1, y1 = placement.leader
            look: Any = {"linewidth": 0.8, "zorder": 5.5} if label.is_disc else {"linewidth": 0.45, "alpha": 0.55}
            x1, y1 = (placement.x, placement.y) if label.is_disc else (x1, y1)
            axes.add_line(Line2D([x0, x1], [y0, y1], transform=at, color=colour, **look))
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.2}
        if label.is_disc:
            box = {"boxstyle": "circle,pad=0.22", "facecolor": "white", "edgecolor": label.colour, "linewidth": 1.6}
        look = {"fontsize": 8.5 if label.is_disc else LABEL_SIZE, "color": colour, "zorder": 6, "gid": "mark-label"}
        look |= {"weight": "bold" if label.is_bold else "normal", "style": "italic" if label.is_italic else "normal"}
        axes.text(placement.x, placement.y, label.text, transform=at, ha="center", va="center", bbox=box, **look)


def _darker(colour: str, share: float = 0.25) -> str:
    """Return a colour mixed with black, for small text on white."""
    parts = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return "#" + "".join(f"{round(part * (1 - share)):02x}" for part in parts)


def _draw_matrix(matrix: Matrix, labels: Sequence[str]) -> Canvas:
    """Draw a matrix from its upper edge down: headings of columns, rows, legend, note; all lengths are inches."""
    size, inner = matrix.font_size, (matrix.cell_width - 0.08) * 72
    text_width = WIDTH - 0.14 - len(matrix.columns) * (matrix.cell_width + GAP)
    lefts = [text_width + number * (matrix.cell_width + GAP) for number, _ in enumerate(matrix.columns)]
    heads = [
        [line for part in column.split("\n") for line in wrapped(part, inner / BOLD, size + 0.5)]
        for column in matrix.columns
    ]
    rows = [
        (wrapped(text, (text_width - 0.36) * 72, 8), [(wrapped(cell.text, inner, size), cell) for cell in cells])
        for text, cells in matrix.rows
    ]
    heights = [LINE * max(len(text), *(len(lines) for lines, _ in cells), 1) + MARGIN for text, cells in rows]
    head = LINE * max(len(lines) for lines in (*heads, matrix.corner.split("\n"))) + 0.16
    legend = _matrix_legend(matrix)
    height = _header_height(labels) + head + sum(heights) + legend[-1][1] + 0.62
    canvas = Canvas(figsize=(WIDTH, height))
    axes = canvas.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(height, 0))
    axes.axis("off")
    y = _header_height(labels) + head
    for left, lines in zip(lefts, heads, strict=True):
        look: dict[str, Any] = {"ha": "center", "va": "bottom", "weight": "bold", "fontsize": size + 0.5}
        axes.text(left + matrix.cell_width / 2, y - 0.06, "\n".join(lines), **look)
    axes.text(0.14, y - 0.06, matrix.corner, va="bottom", fontsize=8, color=FAINT)
    for (text, cells), row_height in zip(rows, heights, strict=True):
        look = {"fontsize": 8, "color": INK} if cells else {"fontsize": 8, "color": FAINT, "weight": "bold"}
        axes.text(0.26 if cells else 0.14, y + row_height / 2, "\n".join(text), va="center", **look)
        for left, (lines, cell) in zip(lefts, cells, strict=False):
            _draw_cell(axes, (left, y, matrix.cell_width, row_height), cell, lines, size)
        y += row_height
    y += 0.12
    for x, below, cell, lines in legend:
        row_height = LINE * len(lines) + 0.06
        _draw_cell(axes, (x, y + below, BOX, row_height), cell, [cell.text], size)
        middle = y + below + row_height / 2
        axes.text(x + BOX + 0.14, middle, "\n".join(lines), va="center", fontsize=8, gid="legend")
    look = {"ha": "right", "va": "bottom", "fontsize": 7.5, "color": FAINT}
    axes.text(WIDTH - 0.14, height - 0.1, matrix.note, **look)
    return canvas


def _matrix_legend(matrix: Matrix) -> list[tuple[float, float, Cell, list[str]]]:
    """Return the entries of a legend: where each begins, and its lines; short ones are side by side."""
    entries: list[tuple[float, float, Cell, list[str]]] = []
    x, y = 0.26, 0.0
    for cell, text in matrix.legend:
        lines = wrapped(text, (WIDTH - BOX - 0.6) * 72, 8)
        width = BOX + 0.4 + max(text_size(line, 8)[0] for line in lines) / 72
        if entries and x + width > WIDTH:
            x, y = 0.26, y + LINE * len(entries[-1][3]) + 0.06
        entries.append((x, y, cell, lines))
        x += width
    return entries


def _draw_cell(
    axes: Any, place: tuple[float, float, float, float], cell: Cell, lines: Sequence[str], size: float
) -> None:
    x, y, width, height = place
    if cell.parts:
        width /= 2
        step = width / len(cell.parts)
        for number, part in enumerate(cell.parts):
            _draw_cell(axes, (x + number * step, y, step, height), part, [part.text], size - 1)
        x += width
    if cell.colour:
        edge = "#d1d5db" if cell.colour == "#ffffff" else "white"
        box = Rectangle((x, y + 0.015), width, height - 0.03, facecolor=cell.colour, edgecolor=edge, linewidth=0.7)
        axes.add_patch(box)
    look = {"ha": "center", "va": "center", "fontsize": size, "color": INK if cell.colour else FAINT}
    axes.text(x + width / 2, y + height / 2, "\n".join(lines), **look)
