"""Draws ratios and goals as an SVG: one bar per row on a logarithmic scale, a tick where the goal is."""
import html
import math

LEFT, WIDTH, LINE, TOP = 210, 430, 22, 46


def svg(rows):
    """`rows`: (name, ratio to the limit, the ratio it must reach)."""
    largest = max([2.0] + [max(ratio, goal) for _, ratio, goal in rows]) * 1.15
    smallest = min([0.5] + [min(ratio, goal) for _, ratio, goal in rows])

    def x(ratio):
        return LEFT + WIDTH * (math.log(ratio / smallest)) / math.log(largest / smallest)

    height = TOP + LINE * len(rows) + 14
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 70}" height="{height}" '
           'font-family="sans-serif" font-size="12">',
           f'<rect width="100%" height="{height}" fill="white"/>',
           f'<text x="{LEFT}" y="18" fill="#333">time as a ratio to a hand-written loop (less is better); the tick is the goal</text>']
    mark = 2.0 ** math.ceil(math.log2(smallest))
    while mark <= largest:
        out.append(f'<line x1="{x(mark):.1f}" x2="{x(mark):.1f}" y1="{TOP - 6}" y2="{height - 12}" '
                   f'stroke="{"#999" if mark == 1 else "#e4e4e4"}"/>'
                   f'<text x="{x(mark):.1f}" y="{TOP - 10}" fill="#777" text-anchor="middle">{mark:g}</text>')
        mark *= 2
    for i, (name, ratio, goal) in enumerate(rows):
        y = TOP + LINE * i
        out.append(f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end" fill="#333">{html.escape(name)}</text>'
                   f'<rect x="{LEFT}" y="{y + 3}" width="{max(x(ratio) - LEFT, 1):.1f}" height="{LINE - 8}" '
                   f'fill="{"#4a90c2" if ratio <= goal else "#d9822b"}"/>'
                   f'<line x1="{x(goal):.1f}" x2="{x(goal):.1f}" y1="{y}" y2="{y + LINE - 2}" stroke="#222" stroke-width="2"/>'
                   f'<text x="{x(max(ratio, goal)) + 6:.1f}" y="{y + 13}" fill="#333">{ratio:.2f}</text>')
    out.append("</svg>\n")
    return "\n".join(out)
