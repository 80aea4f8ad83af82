#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# Draws pictures from the points that tenure_bench --only curves prints.
#
#   scripts/bench_pictures.py FOLDER < POINTS      called by scripts/bench --pictures
import sys
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

PICTURES = {
    "pairs": ("Pairs of acquire and release in flight", "µs per pair"),
    "memory": ("Leases held", "bytes per lease, resident"),
    "renewals": ("Leases of 10 s held", "client CPU, % of a core"),
}


def read(lines):
    """{picture: {curve: [(x, y)]}} of lines `point PICTURE X Y CURVE`."""
    points = defaultdict(lambda: defaultdict(list))
    for line in lines:
        words = line.split(maxsplit=4)
        if words[:1] == ["point"]:
            points[words[1]][words[4].strip()].append((float(words[2]), float(words[3])))
    return points


def draw(curves, x_label, y_label, path, from_zero):
    figure, axes = plt.subplots(figsize=(6.4, 3.6))
    for name, points in curves.items():
        axes.plot(*zip(*points), marker="o", label=name)
    axes.set_xscale("log")
    ticks = sorted({x for points in curves.values() for x, _ in points})
    axes.set_xticks(ticks, [f"{int(x):,}" for x in ticks])
    axes.minorticks_off()
    if from_zero:
        axes.set_ylim(bottom=0)
    else:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


points = read(sys.stdin)
missing = PICTURES.keys() - points.keys()
if missing:
    sys.exit(f"bench: no points for {', '.join(sorted(missing))}")
plt.rcParams["svg.hashsalt"] = "tenure"
folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for name, (x_label, y_label) in PICTURES.items():
    draw(points[name], x_label, y_label, folder / f"{name}.svg", name == "memory")
