"""Draws ticks of a traced battle as an SVG: what each worker did, handler by handler."""
import html
import statistics

LEFT, WIDTH, LANE, GAP = 84, 740, 26, 8
COLORS = ["#c0504d", "#4a90c2", "#e0a030", "#5aa469", "#8e6bb0", "#3c7d7d"]
OTHERS = "#777777"
OWN = "#e6e6e6"  # of a tick: not in a handler


class Battle:
    """A trace of tools/bench --battle: its ticks, and what was done in them."""

    def __init__(self, trace, workers):
        slices = [e for e in trace["traceEvents"] if e["ph"] == "X"]
        self.workers = workers
        self.handlers = sorted((e for e in slices if e["cat"] == "handler"), key=lambda e: e["ts"])
        looks = [e["ts"] for e in slices if e["cat"] == "batch" and e["name"].endswith("FindContacts")]
        inputs = sorted((e for e in slices if e["cat"] == "input"), key=lambda e: e["ts"])
        # A tick is an advance and the push behind it.
        self.ticks = []
        for before, after in zip(inputs, inputs[1:]):
            if before["name"] == "advance" and after["name"] == "push":
                begin, end = before["ts"], after["ts"] + after["dur"]
                self.ticks.append((begin, end, any(begin <= at <= end for at in looks)))

    def ordinary(self, count):
        """(begin, end, whether it looks for contacts) of `count` ticks one behind the other that do not look, of middling
        length, towards the end."""
        late = self.ticks[len(self.ticks) * 4 // 5:]
        runs = [late[i:i + count] for i in range(len(late) - count + 1)]
        return middling([run for run in runs if not any(tick[2] for tick in run)])

    def looking(self):
        return middling([[tick] for tick in self.ticks[len(self.ticks) * 4 // 5:] if tick[2]])

    def lane(self, worker, tick):
        """Slices of a worker, from 1; what it did as the only one belongs to the first."""
        tracks = (0, 1) if worker == 1 else (worker,)
        return [e for e in self.handlers if e["tid"] in tracks and tick[0] <= e["ts"] < tick[1]]

    def sums(self):
        """us by handler."""
        sums = {}
        for e in self.handlers:
            sums[e["name"]] = sums.get(e["name"], 0) + e["dur"]
        return sums


def length(ticks):
    return sum(end - begin for begin, end, _ in ticks)


def middling(runs):
    middle = statistics.median_low(map(length, runs))
    return next(run for run in runs if length(run) == middle)


def merged(slices, pixel):
    """[name, begin, end, time in it]; neighbours of one handler are joined if the gap is invisible."""
    out = []
    for e in slices:
        begin, end = e["ts"], e["ts"] + e["dur"]
        if out and out[-1][0] == e["name"] and begin - out[-1][2] < 1.5 * pixel:
            out[-1][2] = max(out[-1][2], end)
            out[-1][3] += e["dur"]
        else:
            out.append([e["name"], begin, end, e["dur"]])
    return out


def draw_slice(out, x, y, width, name, us, color):
    if width < 0.2:
        return
    out.append(f'<rect x="{x:.2f}" y="{y}" width="{max(width, 0.4):.2f}" height="{LANE - 4}" fill="{color}">'
               f'<title>{html.escape(name)}: {us / 1000:.3f} ms</title></rect>')
    short = name.rpartition(".")[2]
    for text in (f"{short} {us / 1000:.2f}", short):
        if width > 6.2 * len(text) + 6:
            out.append(f'<text x="{x + width / 2:.1f}" y="{y + 15}" fill="white" text-anchor="middle" font-size="11">'
                       f'{html.escape(text)}</text>')
            return


def panel(out, y, title, battles, ticks_of, colors):
    """Draws some ticks of each battle, one directly behind the other, on one scale. Returns its end."""
    runs = [ticks_of(battle) for battle in battles]
    longest = max(map(length, runs))
    scale = WIDTH / longest
    step = next(s for s in (100, 200, 250, 500, 1000, 2000, 5000, 10000, 20000, 50000, 1e9) if longest / s <= 9)
    out.append(f'<text x="{LEFT}" y="{y}" font-weight="bold" fill="#333">{html.escape(title)}</text>')
    top = y + 10
    bottom = top + sum(battle.workers * LANE + GAP for battle in battles)
    for i in range(int(longest / step) + 1):
        x = LEFT + i * step * scale
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}" stroke="#e4e4e4"/>'
                   f'<text x="{x:.1f}" y="{bottom + 12}" fill="#777" text-anchor="middle">{i * step / 1000:g} ms</text>')
    y = top
    for battle, ticks in zip(battles, runs):
        for worker in range(1, battle.workers + 1):
            out.append(f'<text x="{LEFT - 8}" y="{y + 17}" text-anchor="end" fill="#333">'
                       f'{"alone" if battle.workers == 1 else f"worker {worker}"}</text>')
            x = LEFT
            for tick in ticks:
                width = length([tick]) * scale
                out.append(f'<rect x="{x:.2f}" y="{y + 2}" width="{max(width - 1, 0.5):.2f}" height="{LANE - 4}" fill="{OWN}"/>')
                for name, at, until, us in merged(battle.lane(worker, tick), 1 / scale):
                    draw_slice(out, x + (at - tick[0]) * scale, y + 2, (until - at) * scale, name, us,
                               colors.get(name, OTHERS))
                x += width
            y += LANE
        y += GAP
    return bottom + 40


def svg(battles):
    """`battles`: one per number of workers, the one with one worker first."""
    sums = {}
    for battle in battles:
        for name, us in battle.sums().items():
            sums[name] = sums.get(name, 0) + us
    names = sorted(sums, key=sums.get, reverse=True)[:len(COLORS)]
    colors = dict(zip(names, COLORS))
    out = []
    y = 22
    x = LEFT
    for name, color in [*colors.items(), ("other handlers", OTHERS), ("the registry, or waiting", OWN)]:
        width = 6.4 * len(name) + 30
        if x + width > LEFT + WIDTH + 20:
            x, y = LEFT, y + 18
        out.append(f'<rect x="{x}" y="{y - 10}" width="12" height="12" fill="{color}"/>'
                   f'<text x="{x + 17}" y="{y}" fill="#333">{html.escape(name)}</text>')
        x += width
    y = panel(out, y + 32, "three ticks that do not look for contacts", battles, lambda b: b.ordinary(3), colors)
    y = panel(out, y, "a tick that looks for contacts", battles, Battle.looking, colors)
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 30}" height="{y - 16}" '
            f'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="white"/>')
    return "\n".join([head, *out, "</svg>\n"])
