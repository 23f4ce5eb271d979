// The curves of all methods, and the size that is shown in them.
const allLevels = figures.methods.flatMap(method => method.levels);
const sizes = allLevels.map(level => Math.max(level.vectors, 1));
const across = sizes.length ? axis(sizes) : null;
const placeX = vectors => LEFT + (W - LEFT - RIGHT) * across.place(Math.max(vectors, 1));
const shape = (place, x, y, r) => {
  const d = [
    `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`,
    `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}z`,
    `M${x} ${y - 1.2 * r}l${1.2 * r} ${2.1 * r}h${-2.4 * r}z`,
    `M${x} ${y - 1.3 * r}l${1.3 * r} ${1.3 * r}l${-1.3 * r} ${1.3 * r}l${-1.3 * r} ${-1.3 * r}z`,
    `M${x - r} ${y - r}l${2 * r} ${2 * r}M${x + r} ${y - r}l${-2 * r} ${2 * r}`,
    `M${x - r} ${y}h${2 * r}M${x} ${y - r}v${2 * r}`,
  ][place % 6];
  return svg("path", { d, fill: place % 6 < 4 ? "currentColor" : "none", stroke: "currentColor", "stroke-width": place % 6 < 4 ? 0 : 2 });
};
const kinds = [
  { key: "error", title: errorName[0].toUpperCase() + errorName.slice(1), about: rowsName && "on " + rowsName, band: "error_band", text: error, tick: figures.task === "classes" ? value => short(100 * value) + " %" : short },
  { key: "agreement", title: "Agreement", about: "with the full machine's labels", band: "agreement_band", text: percent, of: value => 1 - value, tick: value => short(100 * (1 - value)) + " %", least: .5 / Math.max(figures.rows, 1), down: true },
  { key: "difference", title: "Difference", about: "from the full machine's values", text: short, tick: short },
  { key: "residual", title: "Residual", about: "relative squared distance of the weight vectors", text: short, tick: short },
];
const charts = [];
const chart = kind => {
  const of = kind.of || (value => value);
  const raw = level => known(level[kind.key]) ? of(level[kind.key]) : null;
  const fullValue = kind.key === "error" ? raw(full) : null;
  const values = allLevels.map(raw).filter(value => value !== null);
  if (!values.length) return null;
  const above = values.concat(fullValue === null ? [] : [fullValue]).filter(value => value > 0);
  const floor = kind.least || (above.length ? Math.min(...above) / (values.some(value => value <= 0) ? 2 : 1) : 1e-3);
  const up = axis(values.concat(fullValue === null ? [] : [fullValue]).map(value => Math.max(value, floor)));
  const y = value => { const part = up.place(Math.max(value, floor)); return TOP + (H - TOP - BOTTOM) * (kind.down ? part : 1 - part); };
  const plot = svg("svg", { viewBox: `0 0 ${W} ${H}`, class: "plot", role: "img", "aria-label": described(kind) });
  if (values.some(value => value < floor)) plot.append(svg("text", { x: LEFT - 6, y: y(floor) + 4, "text-anchor": "end" }, kind.tick(0)));
  for (const tick of up.ticks.filter(tick => tick > 1.5 * floor || !values.some(value => value < floor)))
    plot.append(svg("line", { class: "axis", x1: LEFT, x2: W - RIGHT, y1: y(tick), y2: y(tick) }), svg("text", { x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end" }, kind.tick(tick)));
  for (const tick of across.ticks.filter(tick => Number.isInteger(tick)))
    plot.append(svg("line", { class: "axis", x1: placeX(tick), x2: placeX(tick), y1: H - BOTTOM, y2: H - BOTTOM + 4 }), svg("text", { x: placeX(tick), y: H - BOTTOM + 17, "text-anchor": "middle" }, count(tick)));
  plot.append(svg("line", { class: "axis", x1: LEFT, x2: W - RIGHT, y1: H - BOTTOM, y2: H - BOTTOM }), svg("text", { x: W - RIGHT, y: H - 2, "text-anchor": "end" }, "vectors"));
  if (fullValue !== null) plot.append(svg("line", { class: "full", x1: LEFT, x2: W - RIGHT, y1: y(fullValue), y2: y(fullValue) }));
  const here = svg("line", { class: "here", y1: TOP, y2: H - BOTTOM });
  plot.append(here);
  figures.methods.forEach((method, place) => {
    const points = method.levels.filter(level => raw(level) !== null).map(level => [placeX(level.vectors), y(raw(level))]);
    const group = svg("g", { class: colour(place) }, svg("path", { class: "curve", stroke: "currentColor", d: points.map(([x, y], i) => (i ? "L" : "M") + x.toFixed(1) + " " + y.toFixed(1)).join("") }));
    const banded = method.levels.filter(level => kind.band && level[kind.band]);
    if (banded.length) {
      const inside = (level, end) => placeX(level.vectors).toFixed(1) + " " + Math.min(Math.max(y(of(level[kind.band][end])), TOP), H - BOTTOM).toFixed(1);
      const edge = banded.map(level => inside(level, 1)).concat(banded.slice().reverse().map(level => inside(level, 0)));
      group.prepend(svg("path", { class: "band", fill: "currentColor", d: "M" + edge.join("L") + "z" }));
    }
    const every = Math.ceil(points.length / 30);
    points.forEach(([x, y], i) => { if (i % every === 0) group.append(shape(place, x, y, 3)); });
    plot.append(group);
  });
  const mark = svg("g", {});
  plot.append(mark);
  pick(plot);
  charts.push({ move: level => {
    here.setAttribute("x1", placeX(level.vectors)); here.setAttribute("x2", placeX(level.vectors));
    mark.replaceChildren();
    if (raw(level) !== null) mark.append(svg("circle", { class: colour(state.method), cx: placeX(level.vectors), cy: y(raw(level)), r: 7, fill: "none", stroke: "currentColor", "stroke-width": 2.5 }));
  } });
  return el("figure", {}, el("figcaption", {}, kind.title + " ", el("span", {}, kind.about || "")), plot);
};
/* A text alternative of a curve. */
const described = kind => {
  const parts = figures.methods.map(method => {
    const seen = method.levels.filter(level => known(level[kind.key]));
    if (!seen.length) return method.name + ": none";
    const [first, last] = [seen[0], seen[seen.length - 1]];
    return `${method.name}: ${kind.text(first[kind.key])} with ${count(first.vectors)}, ${kind.text(last[kind.key])} with ${count(last.vectors)}`;
  });
  const line = kind.key === "error" && known(full.error) ? `. Full machine: ${kind.text(full.error)}` : "";
  return `${kind.title} against vectors. ${parts.join(". ")}${line}. All values are in the tables below.`;
};
/* A click or drag in a curve chooses the nearest size of the method that is shown. */
const pick = plot => {
  const to = event => {
    const box = plot.getBoundingClientRect(), x = (event.clientX - box.left) * W / box.width;
    let best = 0;
    levels(state.method).forEach((level, i) => { if (Math.abs(placeX(level.vectors) - x) < Math.abs(placeX(levels(state.method)[best].vectors) - x)) best = i; });
    show(state.method, best);
  };
  plot.addEventListener("pointerdown", to);
  plot.addEventListener("pointermove", event => { if (event.buttons & 1) to(event); });
};
const legend = () => el("ul", { class: "legend" },
  ...figures.methods.map((method, place) => el("li", { class: colour(place) },
    svg("svg", { viewBox: "0 0 28 12", "aria-hidden": "true" }, svg("path", { d: "M0 6h28", stroke: "currentColor", "stroke-width": 2 }), shape(place, 14, 6, 3)), method.name)),
  known(full.error) ? el("li", {}, svg("svg", { viewBox: "0 0 28 12", "aria-hidden": "true" }, svg("path", { class: "full", d: "M0 6h28" })), "full machine") : null,
  allLevels.some(level => level.error_band || level.agreement_band) ? el("li", {}, svg("svg", { viewBox: "0 0 28 12", "aria-hidden": "true" }, svg("path", { class: "band", fill: "currentColor", d: "M0 1h28v10h-28z" })), "95 % confidence interval of each value") : null);
