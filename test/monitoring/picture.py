# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""Draws the panels of the dashboard from what a Prometheus answers to their queries."""
import re

UNITS = {"s": "s", "reqps": "1/s", "percentunit": "of the ttl", "short": ""}


def legend(text, labels):
    return re.sub(r"\{\{(\w+)\}\}", lambda match: labels.get(match[1], ""), text)


def draw(prometheus, panels, fill, begin, end, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot

    pyplot.rcParams.update({"font.size": 7})
    columns = 3
    rows = []
    for panel in panels:
        if not rows or rows[-1][0].row != panel.row or len(rows[-1]) == columns:
            rows.append([])
        rows[-1].append(panel)
    figure, axes = pyplot.subplots(len(rows), columns, figsize=(10, 1.75 * len(rows)), squeeze=False)
    for row, row_axes in zip(rows, axes, strict=True):
        for index, axis in enumerate(row_axes):
            if index >= len(row):
                axis.axis("off")
                continue
            panel = row[index]
            axis.set_title(panel.title + (f" [{UNITS[panel.unit]}]" if UNITS[panel.unit] else ""), fontsize=8, loc="left")
            lines = 0
            for query in panel.queries:
                for series in prometheus.query_range(fill(query.expression), begin, end, 1):
                    points = [(time - begin, float(value)) for time, value in series["values"] if value != "NaN"]
                    if not points:
                        continue
                    axis.plot(*zip(*points, strict=True), linewidth=1, label=legend(query.legend, series["metric"]))
                    lines += 1
            axis.set_ylim(bottom=0)
            axis.set_xlim(0, end - begin)
            axis.grid(alpha=0.3, linewidth=0.5)
            if 0 < lines <= 10:
                axis.legend(fontsize=5, ncol=2, frameon=False, loc="best")
    for axis in axes[-1]:
        axis.set_xlabel("seconds")
    figure.tight_layout()
    figure.savefig(file, dpi=100)
    # a few colours, and a quarter of the bytes
    from PIL import Image

    Image.open(file).convert("RGB").quantize(64).save(file, optimize=True)
