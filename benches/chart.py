"""Charts as SVG without dependencies, in the manner of `kernelet reproduce`: points joined by lines, levels as dashed lines."""

import html
import math

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#1a1a1a")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 400, 70, 220, 50, 60


def lines(title, across, up, series, levels):
    """`series` has for each name its points (x, y), `levels` for each name its y; x is drawn by its logarithm."""
    xs = [math.log(x) for points in series.values() for x, _ in points]
    ys = [y for points in series.values() for _, y in points] + list(levels.values())
    low, high, most = min(xs), max(xs), 1.05 * max(ys)
    place = lambda x: LEFT + (math.log(x) - low) / ((high - low) or 1) * (WIDTH - LEFT - RIGHT)
    height = lambda y: HEIGHT - BOTTOM - y / most * (HEIGHT - TOP - BOTTOM)
    parts = [text(LEFT, 28, title, "font-weight='bold' font-size='15'"), text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16, across, "text-anchor='middle'"),
             f"<text transform='translate(20 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)' text-anchor='middle'>{html.escape(up)}</text>"]
    step = 10 ** math.floor(math.log10(most))
    step = next(s for s in (step / 5, step / 2, step, 2 * step) if most / s <= 7)
    for k in range(int(most / step) + 1):
        parts.append(f"<path d='M{LEFT} {height(k * step):.1f}H{WIDTH - RIGHT}' stroke='#dddddd'/>")
        parts.append(text(LEFT - 8, height(k * step) + 4, f"{k * step:g}", "text-anchor='end'"))
    for x in sorted({x for points in series.values() for x, _ in points}):
        parts.append(text(place(x), HEIGHT - BOTTOM + 20, f"{x:g}", "text-anchor='middle'"))
    for k, (name, points) in enumerate([*series.items(), *((name, y) for name, y in levels.items())]):
        colour, entry = COLOURS[k % len(COLOURS)], TOP + 10 + 22 * k
        if isinstance(points, (int, float)):
            path, dashes = f"M{LEFT} {height(points):.1f}H{WIDTH - RIGHT}", " stroke-dasharray='5 4'"
        else:
            path, dashes = "M" + "L".join(f"{place(x):.1f} {height(y):.1f}" for x, y in points), ""
            parts += [f"<circle cx='{place(x):.1f}' cy='{height(y):.1f}' r='4' fill='{colour}'/>" for x, y in points]
        parts.append(f"<path d='{path}' fill='none' stroke='{colour}' stroke-width='2'{dashes}/>")
        parts.append(f"<path d='M{WIDTH - RIGHT + 14} {entry}h24' stroke='{colour}' stroke-width='2'{dashes}/>")
        parts.append(text(WIDTH - RIGHT + 46, entry + 4, name))
    return framed(title, parts)


def bars(title, up, values):
    """A horizontal bar for each name."""
    most, parts = max(values.values()) or 1, [text(20, 28, title, "font-weight='bold' font-size='15'")]
    for k, (name, value) in enumerate(values.items()):
        y, wide = TOP + 8 + k * 26, value / most * (WIDTH - 420)
        parts.append(text(250, y + 13, name, "text-anchor='end'"))
        parts.append(f"<rect x='260' y='{y}' width='{max(wide, 1):.1f}' height='18' fill='{COLOURS[0] if name.startswith('kernelet') else '#999999'}'/>")
        parts.append(text(268 + wide, y + 13, f"{value:.3g} {up}"))
    return framed(title, parts, TOP + 26 * len(values) + 24)


def text(x, y, words, more=""):
    return f"<text x='{x:.1f}' y='{y:.1f}' {more}>{html.escape(words)}</text>"


def framed(title, parts, height=HEIGHT):
    head = f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{height}' viewBox='0 0 {WIDTH} {height}' role='img' "
    head += "font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\" font-size='13' fill='#1a1a1a'>"
    return "\n".join([head, f"<title>{html.escape(title)}</title>", f"<rect width='{WIDTH}' height='{height}' fill='#ffffff'/>", *parts, "</svg>\n"])
