// What is shown of the machine at the slider.
const colours = ["--m0", "--m1", "--m2", "--m3", "--m4", "--m5"].map(name => () => getComputedStyle(document.documentElement).getPropertyValue(name).trim());
const ofError = level => level.task === "classes" ? percent(level.error) : known(level.error) ? digits(level.error, 4) : "–";
const measured = () => page.opened.rows ? page.opened.rows.test_rows ? "the test rows" : "the rows" : "";
const here = () => page.levels[page.shown];

const drawCurve = () => {
  const levels = page.levels, full = page.opened.model;
  const value = level => known(level.error) ? level.error : known(level.agreement) ? 1 - level.agreement : null;
  const points = levels.filter(level => value(level) !== null);
  byId("curves").hidden = !points.length;
  if (!points.length) return;
  const name = known(points[0].error) ? points[0].task === "classes" ? "Error" : "Mean squared error" : "Disagreement";
  const fullValue = full && known(full.error) && known(points[0].error) ? full.error : null;
  const values = points.map(value).concat(fullValue === null ? [] : [fullValue]), above = values.filter(number => number > 0);
  const floor = above.length ? Math.min(...above) / (above.length < values.length ? 2 : 1) : 1e-3;
  const across = axis(levels.map(level => Math.max(level.vectors, 1))), up = axis(values.map(number => Math.max(number, floor)));
  const x = level => LEFT + (W - LEFT - RIGHT) * across.place(Math.max(level.vectors, 1));
  const y = number => TOP + (H - TOP - BOTTOM) * (1 - up.place(Math.max(number, floor)));
  const tick = number => points[0].task === "classes" ? short(100 * number) + " %" : short(number);
  const last = points[points.length - 1];
  const plot = svg("svg", { viewBox: `0 0 ${W} ${H}`, class: "plot", role: "img", "aria-label": `${name} against vectors: ${points.map(level => `${count(level.vectors)}: ${tick(value(level))}`).join(", ")}` });
  for (const number of up.ticks) plot.append(svg("line", { class: "axis", x1: LEFT, x2: W - RIGHT, y1: y(number), y2: y(number) }), svg("text", { x: LEFT - 6, y: y(number) + 4, "text-anchor": "end" }, tick(number)));
  for (const number of across.ticks.filter(Number.isInteger)) {
    const at = x({ vectors: number });
    plot.append(svg("line", { class: "axis", x1: at, x2: at, y1: H - BOTTOM, y2: H - BOTTOM + 4 }), svg("text", { x: at, y: H - BOTTOM + 17, "text-anchor": "middle" }, count(number)));
  }
  plot.append(svg("line", { class: "axis", x1: LEFT, x2: W - RIGHT, y1: H - BOTTOM, y2: H - BOTTOM }), svg("text", { x: W - RIGHT, y: H - 2, "text-anchor": "end" }, "vectors"));
  if (fullValue !== null) plot.append(svg("line", { class: "full", x1: LEFT, x2: W - RIGHT, y1: y(fullValue), y2: y(fullValue) }));
  const curve = svg("g", { class: "m0" }, svg("path", { class: "curve", stroke: "currentColor", d: points.map((level, i) => (i ? "L" : "M") + x(level).toFixed(1) + " " + y(value(level)).toFixed(1)).join("") }));
  for (const level of points) curve.append(svg("circle", { cx: x(level), cy: y(value(level)), r: level === here() ? 7 : 3, fill: level === here() ? "none" : "currentColor", stroke: "currentColor", "stroke-width": 2 }));
  plot.append(curve);
  plot.addEventListener("pointerdown", event => {
    const box = plot.getBoundingClientRect(), at = (event.clientX - box.left) * W / box.width;
    show(levels.reduce((best, level, i) => Math.abs(x(level) - at) < Math.abs(x(levels[best]) - at) ? i : best, 0));
  });
  byId("curves").replaceChildren(el("figure", {}, el("figcaption", {}, name + " against vectors ", el("span", {}, (measured() ? "on " + measured() : "") + (fullValue === null ? "" : "; dashed: the full machine") + (last === points[0] ? "; one size so far" : ""))), plot));
};

const drawCards = level => byId("cards").replaceChildren(...[
  ["vectors", count(level.vectors), "vectors"],
  known(level.error) ? ["error", ofError(level), (level.task === "classes" ? "error on " : "mean squared error on ") + measured()] : null,
  known(level.agreement) ? ["agreement", percent(level.agreement), "agreement with the model"] : null,
  ["bytes", bytes(level.bytes), "model file"],
  known(level.objective) ? ["objective", short(level.objective), "training objective"] : null,
  known(level.seconds) ? ["seconds", seconds(level.seconds), "to make it, here"] : null,
].filter(Boolean).map(([key, value, about]) => el("div", { class: "card" }, el("b", { "data-figure": key }, value), el("span", {}, about))));

/* Dark dots are large numbers. */
const image = (row, [width, height], [low, high], about) => {
  const canvas = el("canvas", { width, height, role: "img", "aria-label": about }), context = canvas.getContext("2d"), dots = context.createImageData(width, height);
  row.forEach((number, i) => { const grey = 255 * (1 - Math.min(1, Math.max(0, (number - low) / (high - low || 1)))); dots.data.set([grey, grey, grey, 255], 4 * i); });
  context.putImageData(dots, 0, 0);
  return canvas;
};
const drawVectors = level => {
  byId("vectors-part").hidden = !level.drawn.length;
  byId("vectors-about").textContent = (level.drawn.length < level.vectors ? `The ${level.drawn.length} of ${count(level.vectors)} vectors with the largest coefficients` : "Each vector") + ", with its largest coefficient and what that supports.";
  byId("vectors-drawn").replaceChildren(...level.drawn.map(({ coefficient, output, row }, i) => {
    const text = (coefficient > 0 ? "+" : "") + short(coefficient);
    const about = level.image ? image(row, level.image, level.range, `vector ${i + 1}, coefficient ${text} ${output}`)
      : el("span", {}, row.map((number, j) => `${level.names[j]} ${short(number)}`).join(", ") + (row.length < level.features ? ", …" : ""), el("br"));
    return el("div", { class: "picture" }, about, el("b", {}, text), " " + output);
  }));
};
const drawPlane = level => {
  const plane = level.plane, canvas = byId("plane-drawn");
  byId("plane-part").hidden = !plane;
  if (!plane) return;
  const context = canvas.getContext("2d"), { side, cells, points, names, labels } = plane, size = canvas.width / side;
  byId("plane-about").textContent = `${names[0]} to the right, ${names[1]} up: the predicted class at every place, and rows in the colours of their own classes.`;
  canvas.setAttribute("aria-label", `The predicted classes over ${names[0]} and ${names[1]}`);
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.globalAlpha = .3;
  cells.forEach((cell, i) => { context.fillStyle = colours[cell % 6](); context.fillRect((i % side) * size, canvas.height - (Math.floor(i / side) + 1) * size, size, size); });
  context.globalAlpha = 1;
  for (const [a, b, label] of points) {
    const place = labels.indexOf(label);
    context.fillStyle = place < 0 ? "#888" : colours[place % 6]();
    context.beginPath();
    context.arc((a - plane.x[0]) / (plane.x[1] - plane.x[0]) * canvas.width, canvas.height * (1 - (b - plane.y[0]) / (plane.y[1] - plane.y[0])), 3.5, 0, 7);
    context.fill();
  }
  byId("plane-legend").replaceChildren(...labels.map((label, i) => el("li", { class: "m" + i % 6 }, "● " + label)));
};

const show = place => {
  page.shown = Math.max(0, Math.min(place, page.levels.length - 1));
  const level = here(), slider = byId("size");
  slider.max = page.levels.length - 1;
  slider.value = page.shown;
  slider.setAttribute("aria-valuetext", many(level.vectors, "vector"));
  byId("size-shown").textContent = count(level.vectors);
  byId("summary").textContent = many(level.vectors, "vector") + (known(level.error) ? `, ${level.task === "classes" ? "error" : "mean squared error"} ${ofError(level)}` : "") + `, ${bytes(level.bytes)}` + (level.strategy ? `, by ${level.strategy}` : "");
  drawCards(level);
  drawCurve();
  drawPlane(level);
  drawVectors(level);
  byId("confusion").hidden = !level.confusion;
  if (level.confusion) drawConfusion(byId("confusion-table"), byId("confusion-about"), { names: level.labels, cells: level.confusion, rest: level.confusion_rest, rowsName: measured() });
  byId("scales").hidden = !level.feature_scales.length;
  if (level.feature_scales.length) drawScales(byId("scales-table"), byId("scales-about"), level.feature_scales);
  byId("drawing").hidden = byId("clear").hidden = !level.image;
  byId("next-row").hidden = !page.opened.rows;
  if (byId("row").value.trim()) predict();
};
