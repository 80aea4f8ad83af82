#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""Draws the picture of the start page: who holds which slot over time, in one version for wide screens and one for phones.

    draw_slots.py            writes docs/pictures/slots.svg and slots-narrow.svg
    draw_slots.py --check    fails if they are not what this program draws
"""
import sys
from pathlib import Path

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"

# Seconds. The ttl is 3, so a lease is renewed every second; the token of a lease is cancelled 0.3 before its validity ends.
END = 12
TTL = 3
NOTICE = 0.3
KILL = 4.3
CUT = 3.2

STYLE = """
    .card { fill: #ffffff; stroke: #d0d7de }
    text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: #1f2328 }
    .name { font-weight: 600 }
    .quiet { fill: #59636e }
    .grid { stroke: #d0d7de; stroke-width: 1 }
    .lane { fill: #f1f3f5 }
    .a { fill: #1a7f5a } .b { fill: #2f6fd0 } .c { fill: #8250c4 } .d { fill: #b35900 } .e { fill: #0f7c8a }
    .on { fill: #ffffff; font-weight: 600 }
    .kept { fill: url(#hatch); stroke: #8c959f; stroke-width: 1 }
    .hatch { stroke: #8c959f; stroke-width: 1.5 }
    .renewal { fill: #ffffff }
    .failed { fill: none; stroke: #ffffff; stroke-width: 1.5 }
    .stop { fill: #d97706 }
    .kill { stroke: #cf222e; stroke-width: 3; stroke-linecap: round }
    .mark { fill: #1f2328 } .marked { fill: #ffffff; font-weight: 600 }
    .pole { stroke: #1f2328; stroke-width: 1.5 }
    @media (prefers-color-scheme: dark) {
      .card { fill: #161b22; stroke: #3d444d }
      text { fill: #e6edf3 } .quiet { fill: #9198a1 }
      .grid { stroke: #3d444d }
      .lane { fill: #21262d }
      .a { fill: #2a9d74 } .b { fill: #4c8df0 } .c { fill: #a371e8 } .d { fill: #d27a1c } .e { fill: #2ba8b8 }
      .on { fill: #0d1117 } .renewal { fill: #0d1117 } .failed { stroke: #0d1117 }
      .kept { stroke: #6e7681 } .hatch { stroke: #6e7681 }
      .stop { fill: #f5b041 }
      .kill { stroke: #ff6b6b }
      .mark { fill: #e6edf3 } .marked { fill: #0d1117 } .pole { stroke: #e6edf3 }
    }
"""
TITLE = "Who holds which slot over time: a holder is killed, another one loses the store, and others take over"


class Picture:
    def __init__(self, width, left, size, bar):
        self.width = width
        self.left = left
        self.size = size
        self.bar = bar
        self.right = width - 16
        self.parts = []

    def x(self, second):
        return round(self.left + (self.right - self.left) * second / END, 1)

    def add(self, part):
        self.parts.append("  " + part)

    def text(self, x, y, words, kind="", anchor="start", size=None):
        self.add(f'<text x="{x}" y="{y}" class="{kind}" text-anchor="{anchor}" font-size="{size or self.size}">{words}</text>')

    def held(self, y, begin, end, kind, worker, token):
        """A bar: the time for which a worker may rely on the slot."""
        x = self.x(begin)
        self.add(f'<rect x="{x}" y="{y}" width="{round(self.x(end) - x, 1)}" height="{self.bar}" rx="3" class="{kind}"/>')
        self.text(x + 7, y + self.bar * 0.38, f"worker {worker}", "on")
        self.text(x + 7, y + self.bar * 0.38 + self.size + 2, f"fencing token {token}", "on", size=self.size - 2)

    def renewals(self, y, seconds, kind="renewal"):
        for second in seconds:
            self.add(f'<circle cx="{self.x(second)}" cy="{y + self.bar - 6}" r="3.5" class="{kind}"/>')

    def kept(self, y, begin, end):
        """The store keeps the key, but no process may rely on it."""
        x = self.x(begin)
        self.add(f'<rect x="{x}" y="{y}" width="{round(self.x(end) - x, 1)}" height="{self.bar}" class="kept"/>')

    def mark(self, y, second, number):
        x = self.x(second)
        self.add(f'<path d="M{x} {y - 4}V{y + 5}" class="pole"/>')
        self.add(f'<circle cx="{x}" cy="{y - 12}" r="9" class="mark"/>')
        self.text(x, y - 8, number, "marked", "middle", size=12)

    def lane(self, y, name, narrow):
        self.add(f'<rect x="{self.left}" y="{y}" width="{self.right - self.left}" height="{self.bar}" rx="3" class="lane"/>')
        if narrow:
            self.text(self.left, y - 8, name, "name")
        else:
            self.text(20, y + self.bar / 2 + 5, name, "name", size=self.size + 1)

    def captions(self, y, lines):
        """Numbered sentences; a line without a number continues the one before."""
        for number, words in lines:
            if number:
                self.add(f'<circle cx="{self.left + 9}" cy="{y - 5}" r="9" class="mark"/>')
                self.text(self.left + 9, y - 1, number, "marked", "middle", size=12)
            self.text(self.left + 26, y, words)
            y += self.size + 7
        return y

    def svg(self, height):
        body = "\n".join(self.parts)
        return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {height}" width="{self.width}" height="{height}" role="img" aria-labelledby="title">
  <title id="title">{TITLE}</title>
  <style>{STYLE}  </style>
  <defs>
    <pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <path d="M0 0V7" class="hatch"/>
    </pattern>
  </defs>
  <rect x="0.5" y="0.5" width="{self.width - 1}" height="{height - 1}" rx="10" class="card"/>
{body}
</svg>
"""


def draw(narrow):
    picture = Picture(*((380, 14, 13, 52) if narrow else (960, 92, 17, 62)))
    bar = picture.bar
    y = 40 if narrow else 28
    step = bar + (24 if narrow else 20)

    picture.lane(y, "slot 0", narrow)
    picture.held(y, 0, END, "a", 1, 5)
    picture.renewals(y, range(1, END))
    y += step

    # The last renewal before the kill is that of second 4: the store keeps the key for a ttl from then on.
    picture.lane(y, "slot 1", narrow)
    picture.held(y, 0, KILL, "b", 2, 6)
    picture.renewals(y, range(1, 5))
    picture.kept(y, KILL, 4 + TTL)
    picture.held(y, 4 + TTL + 0.08, END, "d", 4, 8)
    picture.renewals(y, [8.1, 9.1, 10.1, 11.1])
    x = picture.x(KILL)
    middle = y + bar / 2
    picture.add(f'<path d="M{x - 6} {middle - 6}L{x + 6} {middle + 6}M{x + 6} {middle - 6}L{x - 6} {middle + 6}" class="kill"/>')
    picture.mark(y, KILL, 1)
    picture.mark(y, 4 + TTL, 2)
    y += step

    # The last renewal that the store answered is that of second 3.
    validity = 3 + TTL - 0.1
    stop = validity - NOTICE * 2
    picture.lane(y, "slot 2", narrow)
    picture.held(y, 0, stop, "c", 3, 7)
    picture.renewals(y, range(1, 4))
    picture.renewals(y, [4, 4.5, 5], "failed")
    x = picture.x(stop)
    picture.add(f'<rect x="{x}" y="{y}" width="{round(picture.x(validity) - x, 1)}" height="{bar}" class="stop"/>')
    picture.kept(y, validity, 3 + TTL)
    picture.held(y, 3 + TTL + 0.3, END, "e", 5, 9)
    picture.renewals(y, [7.3, 8.3, 9.3, 10.3, 11.3])
    picture.mark(y, CUT, 3)
    picture.mark(y, stop, 4)
    picture.mark(y, 3 + TTL + 0.3, 5)
    y += bar

    y += 18
    for second in range(0, END + 1, 3):
        anchor = "start" if second == 0 else "end" if second == END else "middle"
        picture.text(picture.x(second), y, f"{second} s", "quiet", anchor, size=12)
    y += 32 if narrow else 34
    if narrow:
        lines = [
            (1, "Worker 2 is killed: its renewals (dots) end."),
            ("", "The store keeps the slot for one ttl."),
            (2, "The ttl is over: worker 4 gets the slot,"), ("", "with a greater fencing token."),
            (3, "Worker 3 can no longer reach the store."),
            (4, "Its token is cancelled while its lease is"), ("", "still valid: it has time to stop (orange)."),
            (5, "Worker 5 gets the slot after that."),
        ]
    else:
        lines = [
            (1, "Worker 2 is killed: its renewals (dots) end. The store keeps the slot for one ttl (hatched)."),
            (2, "The ttl is over: worker 4, which has waited, gets the slot with a greater fencing token."),
            (3, "Worker 3 can no longer reach the store: its renewals fail."),
            (4, "Its token is cancelled while its lease is still valid. It has time to stop (orange)."),
            (5, "Only then does worker 5 get the slot: two workers never hold it at once."),
        ]
    y = picture.captions(y, lines)
    return picture.svg(y - (picture.size - 7))


def main():
    drawn = {"slots.svg": draw(False), "slots-narrow.svg": draw(True)}
    for name, text in drawn.items():
        path = PICTURES / name
        if sys.argv[1:] == ["--check"]:
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                sys.exit(f"docs/pictures/{name} is not what site/draw_slots.py draws: run it")
        else:
            path.write_text(text, encoding="utf-8")


main()
