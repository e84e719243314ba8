"""The inline charts of an HTML report as image files: colours resolved, the legend inside, a paper behind them, so that
they are readable wherever a page shows them, light or dark.
"""

import re
from typing import NamedTuple

MARGIN = 12
LINE = 20  # of the legend
LETTER = 6.6  # how broad a letter of 12 px is, about
BELOW = " The table below has the same data."  # an image has none

FIGURE = re.compile(r"<figure\b.*?</figure>", re.S)
CHART = re.compile(r"<svg\b([^>]*\bchart\b[^>]*)>(.*?)</svg>", re.S)
KEY = re.compile(
    r'<span class="key">\s*<svg\b[^>]*viewBox="0 0 ([\d.]+) [\d.]+"[^>]*>(.*?)</svg>(.*?)</span>',
    re.S,
)
PATTERN = r'<pattern id="{}".*?</pattern>'
BLOCK = re.compile(r"@media([^{]*)\{((?:[^{}]*\{[^{}]*\})*)[^{}]*\}")
RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")


class Image(NamedTuple):
    title: str
    says: str
    svg: str


def extract_images(page: str) -> list[Image]:
    """One for each chart of the page, in its order."""
    style = "".join(re.findall(r"<style>(.*?)</style>", page, re.S))
    found = [(figure, CHART.search(figure)) for figure in FIGURE.findall(page)]
    return [_image(page, style, figure, chart) for figure, chart in found if chart]


def _image(page, style, figure, chart):
    attributes, inside = chart.group(1), chart.group(2).replace(BELOW, "")
    width, height = (
        float(number) for number in re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', attributes)[0]
    )
    legend, lines = _legend(KEY.findall(figure), width, height)
    box = (-MARGIN, -MARGIN, width + 2 * MARGIN, height + lines * LINE + 2 * MARGIN)
    named = re.search(r'aria-labelledby="[^"]*"', attributes)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" width="{box[2]:g}" height="{box[3]:g}" '
        f'viewBox="{box[0]} {box[1]} {box[2]:g} {box[3]:g}" role="img" {named.group() if named else ""}>'
    )
    paper = f'<rect class="paper" x="{box[0]}" y="{box[1]}" width="{box[2]:g}" height="{box[3]:g}" rx="6"/>'
    drawn = f"{_patterns(page, inside + legend)}{inside.strip()}\n{legend}"
    whole = f"{head}\n<style>\n{_style(style, drawn)}\n</style>\n{paper}\n{drawn}</svg>\n"
    return Image(_text("title", inside), _text("desc", inside), whole)


def _legend(keys, width, height):
    """(elements, lines) of the keys that the page shows below the chart."""
    x, line, drawn = 0.0, 1, []
    for size, swatch, text in keys:
        text = " ".join(text.split())
        broad = float(size) + 6 + LETTER * len(text) + 14
        if x and x + broad > width:
            x, line = 0.0, line + 1
        y = height + (line - 1) * LINE + 2
        drawn.append(f'<g transform="translate({x:g} {y:g})">{swatch.strip()}')
        drawn.append(f'<text x="{float(size) + 6:g}" y="10">{text}</text></g>\n')
        x = round(x + broad, 1)
    return "".join(drawn), line if drawn else 0


def _patterns(page, drawn):
    """What the chart fills its marks with, and the page defines once for all charts."""
    names = sorted(set(re.findall(r"url\(#([\w-]+)\)", drawn)))
    found = [
        pattern for name in names for pattern in re.findall(PATTERN.format(name), page, re.S)[:1]
    ]
    return f'<defs class="hatches">{"".join(found)}</defs>\n' if found else ""


def _text(element, inside):
    found = re.search(rf"<{element}\b[^>]*>(.*?)</{element}>", inside, re.S)
    return " ".join(found.group(1).split()) if found else ""


def _style(css, drawn):
    """The rules that concern what is drawn, in the colours of the page by day; by night only what differs."""
    classes = {"chart", "paper"} | {
        name for text in re.findall(r'class="([^"]*)"', drawn) for name in text.split()
    }
    elements = {"svg"} | set(re.findall(r"<([a-zA-Z]+)", drawn))
    dark_blocks = [rules for condition, rules in BLOCK.findall(css) if "dark" in condition]
    plain = BLOCK.sub("", css)
    light, dark = _colours(plain), {**_colours(plain), **_colours("".join(dark_blocks))}
    rules = [
        (_fitting(selectors, classes, elements), body.strip())
        for selectors, body in RULE.findall(plain)
    ]
    rules = [
        (".paper", "fill: var(--paper);"),
        *((selectors, body) for selectors, body in rules if selectors),
    ]
    day = [f"{selectors} {{ {_resolved(body, light)} }}" for selectors, body in rules]
    night = [
        f"{selectors} {{ {_resolved(_varying(body), dark)} }}"
        for selectors, body in rules
        if _varying(body)
    ]
    return "\n".join([*day, "@media (prefers-color-scheme: dark) {", *night, "}"])


def _colours(css):
    return {
        name: value.strip()
        for selector, body in RULE.findall(css)
        if ":root" in selector
        for name, value in re.findall(r"(--[\w-]+)\s*:\s*([^;]+)", body)
    }


def _fitting(selectors, classes, elements):
    """Those of the selectors that name nothing but what is drawn."""
    kept = []
    for selector in (part.strip() for part in selectors.split(",")):
        names = set(re.findall(r"\.([\w-]+)", selector))
        kinds = set(re.findall(r"(?<![\w.#-])([a-zA-Z]\w*)", selector))
        of_the_page = re.fullmatch(r"svg(\.[\w-]+)?", selector)  # how broad the page shows it
        if (
            re.fullmatch(r"[\w.\s>-]+", selector)
            and names <= classes
            and kinds <= elements
            and not of_the_page
        ):
            kept.append(selector)
    return ", ".join(kept)


def _varying(body):
    return " ".join(f"{part.strip()};" for part in body.split(";") if "var(" in part)


def _resolved(body, colours):
    return re.sub(
        r"var\((--[\w-]+)\)", lambda found: colours[found.group(1)], " ".join(body.split())
    )
