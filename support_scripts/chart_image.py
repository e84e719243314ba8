"""Turn the inline charts of an HTML report into image files that are readable in light and dark.

An image has fixed colours, the legend inside, and a background.
"""

import re
from typing import NamedTuple

MARGIN = 12
LINE = 20  # of the legend
LETTER = 6.6  # mean width of a letter at 12 px
BELOW = " The table below has the same data."  # remove this: an image has no table

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
    """Return an image for each chart of the page, in the order of the page."""
    style = "".join(re.findall(r"<style>(.*?)</style>", page, re.S))
    charts = [(figure, CHART.search(figure)) for figure in FIGURE.findall(page)]
    return [_make_image(page, style, figure, chart) for figure, chart in charts if chart]


def _make_image(page: str, style: str, figure: str, chart: re.Match[str]) -> Image:
    attributes, inside = chart.group(1), chart.group(2).replace(BELOW, "")
    sizes = re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', attributes)[0]
    width, height = float(sizes[0]), float(sizes[1])
    legend, lines = _draw_legend(KEY.findall(figure), width, height)
    box = (-MARGIN, -MARGIN, width + 2 * MARGIN, height + lines * LINE + 2 * MARGIN)
    label = re.search(r'aria-labelledby="[^"]*"', attributes)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" width="{box[2]:g}" '
        f'height="{box[3]:g}" viewBox="{box[0]} {box[1]} {box[2]:g} {box[3]:g}" role="img" '
        f"{label.group() if label else ''}>"
    )
    paper = (
        f'<rect class="paper" x="{box[0]}" y="{box[1]}" width="{box[2]:g}" height="{box[3]:g}" '
        'rx="6"/>'
    )
    # The hatch patterns that fill the marks; the page defines them once for all charts.
    names = sorted(set(re.findall(r"url\(#([\w-]+)\)", inside + legend)))
    matches = [re.search(PATTERN.format(name), page, re.S) for name in names]
    patterns = "".join(match.group() for match in matches if match)
    defs = f'<defs class="hatches">{patterns}</defs>\n' if patterns else ""
    drawing = f"{defs}{inside.strip()}\n{legend}"
    svg = f"{head}\n<style>\n{_select_rules(style, drawing)}\n</style>\n{paper}\n{drawing}</svg>\n"
    texts = []
    for element in ("title", "desc"):
        text = re.search(rf"<{element}\b[^>]*>(.*?)</{element}>", inside, re.S)
        texts.append(" ".join(text.group(1).split()) if text else "")
    return Image(texts[0], texts[1], svg)


def _draw_legend(keys: list[tuple[str, str, str]], width: float, height: float) -> tuple[str, int]:
    """Draw the legend that the page shows below the chart; return (elements, number of lines)."""
    x, line, drawing = 0.0, 1, []
    for size, swatch, key_text in keys:
        text = " ".join(key_text.split())
        key_width = float(size) + 6 + LETTER * len(text) + 14
        if x and x + key_width > width:
            x, line = 0.0, line + 1
        y = height + (line - 1) * LINE + 2
        drawing.append(f'<g transform="translate({x:g} {y:g})">{swatch.strip()}')
        drawing.append(f'<text x="{float(size) + 6:g}" y="10">{text}</text></g>\n')
        x = round(x + key_width, 1)
    return "".join(drawing), line if drawing else 0


def _select_rules(css: str, drawing: str) -> str:
    """Return the CSS rules of the drawn elements in light colours, and dark ones that differ."""
    classes = {"chart", "paper"}
    for text in re.findall(r'class="([^"]*)"', drawing):
        classes |= set(text.split())
    elements = {"svg"} | set(re.findall(r"<([a-zA-Z]+)", drawing))
    dark_blocks = [rules for condition, rules in BLOCK.findall(css) if "dark" in condition]
    plain = BLOCK.sub("", css)
    light = _read_colours(plain)
    dark = light | _read_colours("".join(dark_blocks))
    rules = [(".paper", "fill: var(--paper);")]
    for selectors, body in RULE.findall(plain):
        matching_selectors = _choose_selectors(selectors, classes, elements)
        if matching_selectors:
            rules.append((matching_selectors, body))
    day = [f"{selectors} {{ {_fill_colours(body, light)} }}" for selectors, body in rules]
    night = []
    for selectors, body in rules:
        parts = [f"{part.strip()};" for part in body.split(";") if "var(" in part]
        if parts:
            night.append(f"{selectors} {{ {_fill_colours(' '.join(parts), dark)} }}")
    return "\n".join([*day, "@media (prefers-color-scheme: dark) {", *night, "}"])


def _read_colours(css: str) -> dict[str, str]:
    return {
        name: value.strip()
        for selector, body in RULE.findall(css)
        if ":root" in selector
        for name, value in re.findall(r"(--[\w-]+)\s*:\s*([^;]+)", body)
    }


def _choose_selectors(selectors: str, classes: set[str], elements: set[str]) -> str:
    """Return the selectors that match only drawn elements and classes."""
    matching_selectors = []
    for selector in (part.strip() for part in selectors.split(",")):
        names = set(re.findall(r"\.([\w-]+)", selector))
        kinds = set(re.findall(r"(?<![\w.#-])([a-zA-Z]\w*)", selector))
        is_page_width = re.fullmatch(r"svg(\.[\w-]+)?", selector)  # the width on the page
        is_plain = re.fullmatch(r"[\w.\s>-]+", selector) and not is_page_width
        if is_plain and names <= classes and kinds <= elements:
            matching_selectors.append(selector)
    return ", ".join(matching_selectors)


def _fill_colours(body: str, colours: dict[str, str]) -> str:
    return re.sub(r"var\((--[\w-]+)\)", lambda match: colours[match[1]], " ".join(body.split()))
