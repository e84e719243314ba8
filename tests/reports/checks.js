// What is wrong with the page that is open, by check. Evaluated by tests/chromium.py; its value is what it found.
(() => {
  const found = {};
  const all = (selector) => [...document.querySelectorAll(selector)];
  const named = (one) => `<${one.tagName.toLowerCase()}${one.id ? " #" + one.id : ""}> ${(one.textContent || "").trim().slice(0, 40)}`;
  const check = (name, wrong) => { found[name] = [...new Set(wrong)].slice(0, 20); };
  all("details").forEach((one) => { one.open = true; });

  // Colours: as computed, blended over what lies behind.
  const context = Object.assign(document.createElement("canvas"), {width: 1, height: 1}).getContext("2d", {willReadFrequently: true});
  const once = (make, known = new Map()) => (key) => known.get(key) || known.set(key, make(key)).get(key);
  const read = once((text) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = text;
    context.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  });
  const over = (top, below, opacity = 1) => [0, 1, 2].map((at) => top[at] * top[3] * opacity + below[at] * (1 - top[3] * opacity)).concat(1);
  const paper = document.documentElement;
  const behind = once((one) => {
    if (!one) return read(matchMedia("(prefers-color-scheme: dark)").matches ? "#000" : "#fff");
    const own = read(getComputedStyle(one).backgroundColor);
    return own[3] === 1 ? own : over(own, behind(one.parentElement || (one === paper ? null : paper)));
  });
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const contrast = (one, two) => { const [low, high] = [light(one), light(two)].sort((x, y) => x - y); return (high + 0.05) / (low + 0.05); };
  const opacity = once((one) => (one ? Number(getComputedStyle(one).opacity) * opacity(one.parentElement) : 1));
  const paint = (one, kind) => {
    const style = getComputedStyle(one);
    if (style[kind] === "none" || style[kind].startsWith("url")) return null;
    return over(read(style[kind]), behind(one), opacity(one) * Number(style[kind + "Opacity"]));
  };

  const weak = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const one = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !one.checkVisibility({visibilityProperty: true})) continue;
    if (one.closest("script, style") || ["title", "desc"].includes(one.tagName)) continue;
    const ink = one.closest("svg") ? paint(one, "fill") : over(read(getComputedStyle(one).color), behind(one), opacity(one));
    const ratio = contrast(ink, behind(one));
    if (ratio < 4.5) weak.push(`${ratio.toFixed(2)} ${named(one)}`);
  }
  check("text has a contrast of 4.5", weak);
  check("marks have a contrast of 3", all("svg[role=img] :is(rect, polygon, polyline, circle, path, line):not(.grid):not(.hatch)").flatMap((one) => {
    const ratio = Math.max(...(one.tagName === "line" ? ["stroke"] : ["fill", "stroke"]).map((kind) => paint(one, kind)).filter(Boolean).map((ink) => contrast(ink, behind(one))), 1);
    return ratio < 3 ? [`${ratio.toFixed(2)} ${named(one)}`] : [];
  }));

  // Names and structure.
  const text = (ids) => (ids || "").split(/\s+/).filter(Boolean).map((id) => (document.getElementById(id) || {}).textContent || "").join(" ").trim();
  check("the language is said", document.documentElement.lang ? [] : ["<html>"]);
  check("the page has a title", document.title.trim() ? [] : ["<title>"]);
  check("drawings have a title and a description", all("svg:not([aria-hidden=true])").flatMap((one) =>
    ["title", "desc"].filter((part) => {
      const said = one.querySelector(":scope > " + part);
      return one.getAttribute("role") !== "img" || !said || !said.textContent.trim() || !text(one.getAttribute("aria-labelledby")).includes(said.textContent.trim());
    }).map((part) => `${part} of ${named(one)}`)));
  check("charts have both axes labelled", all("svg:is(.chart, .plot)").flatMap((one) =>
    ["x", "y"].filter((axis) => !((one.querySelector(".axis-" + axis) || {}).textContent || "").trim()).map((axis) => `${axis} of ${named(one)}`)));
  check("charts have their data as a table", all("svg.chart").filter((one) => !one.closest("figure, section").querySelector("table")).map(named));
  check("inputs have a label", all("input, select, textarea").filter((one) => ![...one.labels].some((label) => label.textContent.trim())).map(named));
  check("tables have a caption", all("table").filter((one) => !one.caption || !one.caption.textContent.trim()).map(named));
  check("tables have headings with a scope", all("table").filter((one) => !one.querySelector("th")).map(named)
    .concat(all("th").filter((one) => !["col", "row"].includes(one.scope)).map(named)));
  check("links lead somewhere", all("a").filter((one) => {
    const to = one.getAttribute("href") || "";
    return to.startsWith("#") ? !document.getElementById(decodeURIComponent(to.slice(1))) : true;
  }).map(named));
  const ids = all("[id]").map((one) => one.id);
  check("ids are unique", ids.filter((id, at) => ids.indexOf(id) !== at));
  const levels = all("h1, h2, h3, h4, h5, h6").map((one) => Number(one.tagName[1]));
  check("headings are in order", levels.flatMap((level, at) => (level > (at ? levels[at - 1] : 0) + 1 || (at && level === 1) ? [`h${level} as number ${at + 1}`] : [])));
  check("headings are not empty", all("h1, h2, h3, h4").filter((one) => !one.textContent.trim()).map(named));
  check("there is one main", all("main").length === 1 ? [] : [`${all("main").length} of them`]);
  check("what takes the focus has a name", all("[tabindex]").filter((one) =>
    !one.getAttribute("role") || !(one.getAttribute("aria-label") || text(one.getAttribute("aria-labelledby"))).trim()).map(named));

  // Room.
  check("the page is no broader than the window", paper.scrollWidth <= innerWidth ? [] : [`${paper.scrollWidth} > ${innerWidth}: ` +
    all("body *").filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest(".scroll")).slice(0, 5).map(named).join("; ")]);
  check("what scrolls can be reached by keys", all("body *").filter((one) => one.scrollWidth > one.clientWidth + 1 &&
    ["auto", "scroll"].includes(getComputedStyle(one).overflowX) && one.tabIndex < 0 && one.getAttribute("tabindex") === null).map(named));
  check("labels do not run into each other", all("svg[role=img]").flatMap((one) => {
    const boxes = [...one.querySelectorAll("text")].filter((label) => label.textContent.trim()).map((label) => [label, label.getBoundingClientRect()]);
    return boxes.flatMap(([label, a], at) => boxes.slice(at + 1).filter(([, b]) =>
      a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3).map(([other]) => `${label.textContent} and ${other.textContent}`));
  }));
  check("labels stay inside of their drawing", all("svg[role=img]").flatMap((one) => {
    const whole = one.getBoundingClientRect();
    return [...one.querySelectorAll("text")].filter((label) => {
      const box = label.getBoundingClientRect();
      return box.left < whole.left - 1 || box.right > whole.right + 1 || box.top < whole.top - 1 || box.bottom > whole.bottom + 1;
    }).map((label) => label.textContent);
  }));
  const told = all("table").filter((one) => one.tBodies[0] && one.tBodies[0].rows.length > 10 && !document.querySelector(`input[data-filters="${one.id}"]`));
  check("long tables can be filtered", all("svg.waterfall").length ? [] : told.map(named));
  check("no stored text became an element", all("script, iframe, object, embed, img, form, base, [onclick], [onerror], [onload], link, audio, video")
    .filter((one) => one.tagName !== "SCRIPT" || one !== document.body.lastElementChild).map(named));
  return found;
})()
