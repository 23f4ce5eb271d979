// The sentence, the cards and the tables of the size that is shown.
// The sentence.
const sentence = level => {
  const parts = [];
  if (known(level.error) && known(full.error)) {
    if (figures.task === "classes") {
      const more = 100 * (level.error - full.error);
      parts.push(Math.abs(more) < .05 ? "the same error" : Math.abs(more).toFixed(1) + " points " + (more > 0 ? "more" : "less") + " error");
    } else {
      const more = 100 * (level.error / full.error - 1);
      parts.push(!known(more) ? "squared error " + error(level.error) : Math.abs(more) < .05 ? "the same squared error"
        : Math.abs(more).toFixed(1) + " % " + (more > 0 ? "more" : "less") + " squared error");
    }
  } else if (known(level.error)) parts.push("error " + error(level.error));
  else if (known(level.agreement)) parts.push("the same label on " + percent(level.agreement) + " of the rows");
  else if (known(level.residual)) parts.push("relative residual " + percent(level.residual));
  if (full.vectors > level.vectors) parts.push(times(full.vectors / level.vectors) + " less work");
  if (known(level.bytes)) parts.push(bytes(level.bytes));
  return count(level.vectors) + " of " + count(full.vectors) + " vectors by " + figures.methods[state.method].name + ": " + parts.join(", ");
};

// Cards.
const rowsName = { test: "the test rows", data: "the rows of --data" }[figures.measured_on] || "";
const errorName = figures.task === "classes" ? "error" : "mean squared error";
const cards = level => [
  ["vectors", count(level.vectors), "vectors of " + count(full.vectors) + ", " + percent(level.vectors / full.vectors)],
  known(level.error) || known(full.error) ? ["error", error(level.error), errorName + (known(full.error) ? "; full machine " + error(full.error) : "")] : null,
  known(level.data_error) ? ["data_error", error(level.data_error), errorName + " on the training rows"] : null,
  known(level.agreement) ? ["agreement", percent(level.agreement), "agreement with the labels of the full machine"] : null,
  known(level.difference) ? ["difference", short(level.difference), "squared difference from the full machine, relative to its variance"] : null,
  known(level.residual) ? ["residual", short(level.residual), "relative squared distance of the weight vectors"] : null,
  known(level.bytes) ? ["bytes", bytes(level.bytes), known(full.bytes) ? "model file; full machine " + bytes(full.bytes) : "model file"] : null,
  known(level.row_us) ? ["row_us", micros(level.row_us), "single-row latency" + (known(full.row_us) ? "; full machine " + micros(full.row_us) : "")] : null,
  known(level.batch_us) ? ["batch_us", micros(level.batch_us), "per row in a batch" + (known(full.batch_us) ? "; full machine " + micros(full.batch_us) : "")] : null,
].filter(Boolean).map(([key, value, about]) => el("div", { class: "card" }, el("b", { "data-figure": key }, value), el("span", {}, about)));

// The table of methods.
const compared = level => {
  const columns = [
    ["vectors", level => count(level.vectors)], [errorName, level => error(level.error)], ["agreement", level => percent(level.agreement)],
    ["relative residual", level => short(level.residual)], ["model", level => bytes(level.bytes)], ["single row", level => micros(level.row_us)], ["row in a batch", level => micros(level.batch_us)],
  ].filter(([, text]) => allLevels.some(level => text(level) !== "–"));
  const line = (name, level, seconds, on) => el("tr", on ? { class: "on" } : {}, el("th", { scope: "row" }, name), ...columns.map(([, text]) => el("td", {}, text(level))), el("td", {}, seconds));
  const head = el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "method"), ...columns.map(([name]) => el("th", { scope: "col" }, name)), el("th", { scope: "col" }, "search time")));
  const body = el("tbody", {}, ...figures.methods.map((method, place) => line(method.name, levels(place)[beside(place, level.vectors)], seconds(method.seconds), place === state.method)),
    line("full machine", full, "", false));
  byId("compared-table").replaceChildren(head, body);
};

// Confusion.
const confusion = level => {
  if (!(level.confusion || []).length && !(full.confusion || []).length) return;
  byId("confusion").hidden = false;
  drawConfusion(byId("confusion-table"), byId("confusion-about"), { names: figures.labels, cells: level.confusion || [], rest: level.confusion_rest, rowsName });
};

// Learned scales of the features.
const featureScales = () => {
  if (!figures.feature_scales.length) return;
  byId("scales").hidden = false;
  drawScales(byId("scales-table"), byId("scales-about"), figures.feature_scales);
};

// Pictures.
const decoded = text => Uint8Array.from(atob(text), character => character.charCodeAt(0));
const album = figures.images ? { ...figures.images, bytes: decoded(figures.images.dots) } : null;
const picture = (place, about) => {
  const { width, height, bytes: dots } = album, size = Math.ceil(width * height / 2);
  const canvas = el("canvas", { width, height, role: "img", "aria-label": about }), context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  for (let i = 0; i < width * height; i++) {
    const grey = 255 - 17 * (i % 2 ? dots[place * size + (i >> 1)] & 15 : dots[place * size + (i >> 1)] >> 4);
    image.data.set([grey, grey, grey, 255], 4 * i);
  }
  context.putImageData(image, 0, 0);
  return canvas;
};
const drawnVectors = level => {
  const drawn = level.drawn || [];
  byId("vectors").hidden = !album || !drawn.length;
  if (!album || !drawn.length) return;
  byId("vectors-about").textContent = (drawn.length < level.vectors ? `The ${drawn.length} of ${count(level.vectors)} vectors with the largest coefficients` : "Each vector") + ", with its largest coefficient and the class that it supports. Dark pixels are large values.";
  byId("vectors-drawn").replaceChildren(...drawn.map(({ picture: place, coefficient, output }, i) => {
    const text = (coefficient > 0 ? "+" : "") + short(coefficient);
    return el("div", { class: "picture" }, picture(place, `vector ${i + 1}, coefficient ${text} ${output || ""}`), el("b", {}, text), " " + (output || ""));
  }));
};
const differingRows = level => {
  const some = figures.labels.length > 0 && known(level.agreement);
  byId("differing").hidden = !some;
  if (!some) return;
  const rows = (level.differing || []).map(([place, predicted]) => ({ ...figures.differing[place], predicted })), all = level.differ || 0;
  byId("differing-about").textContent = all === 0 ? `None of ${count(figures.rows)} rows.` : `${count(all)} of ${count(figures.rows)} rows` + (rows.length < all ? `, of which ${rows.length} are shown.` : ".");
  const describeRow = row => (row.truth === null ? "" : `true ${label(row.truth)}, `) + `full ${label(row.full)}, small ${label(row.predicted)}`;
  const right = (row, place) => row.truth === place ? " ✓" : "";
  if (album) {
    byId("differing-rows").replaceChildren(el("div", { class: "pictures" }, ...rows.map(row => el("div", { class: "picture" },
      known(row.picture) ? picture(row.picture, `row ${row.row}: ${describeRow(row)}`) : null, el("b", {}, `row ${row.row}`), ` ${describeRow(row)}`))));
    return;
  }
  const head = ["row", ...(rows.some(row => row.truth !== null) ? ["true"] : []), "full", "small", ...(rows.some(row => row.values) ? ["first features"] : [])];
  byId("differing-rows").replaceChildren(rows.length ? el("div", { class: "wide" }, el("table", {}, el("thead", {}, el("tr", {}, ...head.map(name => el("th", { scope: "col" }, name)))),
    el("tbody", {}, ...rows.map(row => el("tr", {}, el("th", { scope: "row" }, count(row.row)), head.includes("true") ? el("td", {}, label(row.truth)) : null,
      el("td", {}, label(row.full) + right(row, row.full)), el("td", {}, label(row.predicted) + right(row, row.predicted)), row.values ? el("td", {}, row.values.map(short).join(", ")) : null))))) : "");
};
