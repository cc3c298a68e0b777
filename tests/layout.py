"""Check that the texts of a figure can be read: none overlaps another, none is cut by the edge."""

from matplotlib.backends.backend_agg import FigureCanvasAgg

_TOUCH = 1.0  # pixels by which the boxes of two texts may overlap


def crowded(figure):
    """Return sentences about texts that overlap or leave the canvas; an empty list means that there are none."""
    figure.set_dpi(200)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    width, height = canvas.get_width_height()
    shown = []
    for text in _texts(figure):
        if text.get_visible() and text.get_text().strip():
            shown.append((text.get_text(), text.get_window_extent(renderer)))
    found = []
    for i, (text, box) in enumerate(shown):
        if box.x0 < -_TOUCH or box.y0 < -_TOUCH or box.x1 > width + _TOUCH or box.y1 > height + _TOUCH:
            found.append(f"{text!r} leaves the canvas")
        for other, there in shown[i + 1 :]:
            across = min(box.x1, there.x1) - max(box.x0, there.x0)
            along = min(box.y1, there.y1) - max(box.y0, there.y0)
            if across > _TOUCH and along > _TOUCH:
                found.append(f"{text!r} overlaps {other!r}")
    return found


def _texts(figure):
    """Yield all texts that are drawn; a locator also makes ticks outside the limits, which are not drawn."""
    yield from figure.texts
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes)]
    for legend in legends:
        yield from legend.get_texts() if legend is not None else ()
    for axes in figure.axes:
        yield from (axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts)
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in [*axis.majorTicks, *axis.minorTicks]:
                if low <= tick.get_loc() <= high:
                    yield from (tick.label1, tick.label2)
