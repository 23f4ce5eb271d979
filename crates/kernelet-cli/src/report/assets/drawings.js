// The plane of two features, and predicted numbers.
// The plane of two features.
const runs = (text, length) => {
  const codes = new Uint16Array(length);
  let at = 0;
  for (const [, run, letters] of text.matchAll(/(\d+)([a-z]+)/g)) {
    let code = 0;
    for (const letter of letters) code = 26 * code + letter.charCodeAt(0) - 97;
    codes.fill(code, at, at += Number(run));
  }
  return codes;
};
const S = 480, PAD = 42;
/* Pieces of lines as few long lines, because dashes begin anew with each. */
const joined = pieces => {
  const at = new Map(), used = new Set(), lines = [];
  pieces.forEach((piece, i) => piece.forEach(end => at.set(end, (at.get(end) || []).concat(i))));
  const next = end => (at.get(end) || []).find(i => !used.has(i));
  const follow = line => {
    for (let i = next(line[line.length - 1]); i !== undefined; i = next(line[line.length - 1])) {
      used.add(i);
      line.push(pieces[i][0] === line[line.length - 1] ? pieces[i][1] : pieces[i][0]);
    }
    return line;
  };
  pieces.forEach((piece, i) => {
    if (used.has(i)) return;
    used.add(i);
    lines.push("M" + follow(follow([...piece]).reverse()).join("L"));
  });
  return lines.join("");
};
const planeTools = plane => {
  const n = plane.side, inner = S - PAD - 8;
  const x = value => PAD + inner * (value - plane.x[0]) / (plane.x[1] - plane.x[0]);
  const y = value => 8 + inner * (1 - (value - plane.y[0]) / (plane.y[1] - plane.y[0]));
  const cellX = i => PAD + inner * (i + .5) / n, cellY = j => 8 + inner * (1 - (j + .5) / n);
  /* Where classes meet: the level 1/2 of each class's fraction of the surrounding cells, so that the line is smooth. */
  const border = codes => {
    const classes = [...new Set(codes)].sort((a, b) => a - b), pieces = [];
    for (const code of classes.length === 2 ? classes.slice(1) : classes) {
      const share = new Float32Array(n * n);
      for (let j = 0; j < n; j++) for (let i = 0; i < n; i++) {
        let sum = 0, cells = 0;
        for (let b = Math.max(j - 1, 0); b <= Math.min(j + 1, n - 1); b++) for (let a = Math.max(i - 1, 0); a <= Math.min(i + 1, n - 1); a++) { cells++; if (codes[b * n + a] === code) sum++; }
        share[j * n + i] = sum / cells - .5;
      }
      for (let j = 0; j + 1 < n; j++) for (let i = 0; i + 1 < n; i++) {
        const k = j * n + i, inside = share[k] > 0;
        if (inside === share[k + 1] > 0 && inside === share[k + n] > 0 && inside === share[k + n + 1] > 0) continue;
        const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]], value = corners.map(([a, b]) => share[b * n + a]), meets = [];
        for (let k = 0; k < 4; k++) {
          const [u, v] = [value[k], value[(k + 1) % 4]];
          if (u > 0 === v > 0) continue;
          const t = u / (u - v), [p, q] = [corners[k], corners[(k + 1) % 4]];
          meets.push(cellX(p[0] + t * (q[0] - p[0])).toFixed(1) + " " + cellY(p[1] + t * (q[1] - p[1])).toFixed(1));
        }
        for (let k = 0; k + 1 < meets.length; k += 2) pieces.push([meets[k], meets[k + 1]]);
      }
    }
    return joined(pieces);
  };
  const tint = codes => {
    const canvas = el("canvas", { width: n, height: n }), context = canvas.getContext("2d"), image = context.createImageData(n, n);
    const colours = [[59, 130, 246], [249, 115, 22], [20, 184, 166], [168, 85, 247], [234, 179, 8], [236, 72, 153]];
    for (let j = 0; j < n; j++) for (let i = 0; i < n; i++) image.data.set([...colours[codes[j * n + i] % 6], 55], 4 * ((n - 1 - j) * n + i));
    context.putImageData(image, 0, 0);
    return canvas.toDataURL();
  };
  return { x, y, inner, border, tint };
};
const ticksOf = ([low, high]) => {
  const unit = Math.pow(10, Math.floor(Math.log10((high - low) / 2))), step = [1, 2, 5, 10].map(digit => digit * unit).find(width => (high - low) / width <= 6), ticks = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) ticks.push(Number(tick.toPrecision(6)));
  return ticks;
};
const frame = (plot, x, y, rangeX, rangeY, names) => {
  for (const tick of ticksOf(rangeX)) plot.append(svg("line", { class: "axis", x1: x(tick), x2: x(tick), y1: S - PAD + 2, y2: S - PAD + 6 }), svg("text", { x: x(tick), y: S - PAD + 19, "text-anchor": "middle" }, short(tick)));
  for (const tick of ticksOf(rangeY)) plot.append(svg("line", { class: "axis", x1: PAD - 4, x2: PAD, y1: y(tick), y2: y(tick) }), svg("text", { x: PAD - 7, y: y(tick) + 4, "text-anchor": "end" }, short(tick)));
  plot.append(svg("rect", { x: PAD, y: 8, width: S - PAD - 8, height: S - PAD - 8, fill: "none", class: "axis" }),
    svg("text", { x: S - 8, y: S - 4, "text-anchor": "end" }, names[0]), svg("text", { x: PAD + 6, y: 22 }, names[1]));
};
const drawPlane = () => {
  const plane = figures.plane, { x, y, inner, border, tint } = planeTools(plane), all = plane.side * plane.side;
  const image = svg("image", { x: PAD, y: 8, width: inner, height: inner, preserveAspectRatio: "none" });
  const small = svg("path", { id: "border", fill: "none", stroke: "var(--ink)", "stroke-width": 2 });
  const plot = svg("svg", { viewBox: `0 0 ${S} ${S}`, role: "img", "aria-label": "The plane of the two features with the rows, the regions of the small machine's classes and the boundary of the full machine." }, image);
  for (const [px, py, truth] of plane.points) if (px >= plane.x[0] && px <= plane.x[1]) plot.append(svg("g", { class: truth === null ? "" : colour(truth), opacity: .75 }, shape(truth || 0, x(px), y(py), 2.4)));
  plot.append(small, svg("path", { class: "full", fill: "none", d: border(runs(plane.full, all)), "stroke-width": 1.5 }));
  frame(plot, x, y, plane.x, plane.y, plane.names);
  byId("drawing").replaceChildren(el("h2", {}, "The boundary"), el("p", { class: "quiet" }, "Regions and solid line: this size. Dashed line: the full machine. Dots: rows" + (plane.points.length < figures.rows ? `, ${plane.points.length} of ${count(figures.rows)}.` : ".")),
    el("figure", { id: "plane" }, plot),
    figures.labels.length <= 12 ? el("ul", { class: "legend" }, ...figures.labels.map((name, place) => el("li", { class: colour(place) }, svg("svg", { viewBox: "0 0 28 12", "aria-hidden": "true" }, shape(place, 14, 6, 4)), name))) : "");
  byId("drawing").hidden = false;
  return level => { const codes = runs(level.plane || plane.full, all); image.setAttribute("href", tint(codes)); small.setAttribute("d", border(codes)); };
};

// Predicted numbers.
const unpacked = (text, [low, high]) => {
  const bytes = decoded(text), values = [];
  for (let i = 0; i + 1 < bytes.length; i += 2) { const step = bytes[i] + 256 * bytes[i + 1]; values.push(step === 65535 ? NaN : low + (high - low) * step / 65534); }
  return values;
};
const drawValues = () => {
  const { range, truth, full: fullText, feature } = figures.values, inner = S - PAD - 8;
  const rangeX = feature ? feature.range : range, y = value => 8 + inner * (1 - (value - range[0]) / (range[1] - range[0]));
  const x = value => PAD + inner * (value - rangeX[0]) / (rangeX[1] - rangeX[0]);
  const trueValues = unpacked(truth, range), ofFull = unpacked(fullText, range), at = feature ? unpacked(feature.rows, rangeX) : trueValues;
  const plot = svg("svg", { viewBox: `0 0 ${S} ${S}`, role: "img", "aria-label": feature ? "True values of the rows with the curves of the small and the full machine." : "Predicted against true values, of the small and the full machine." });
  let update;
  if (feature) {
    const line = values => values.map((value, i) => known(value) ? (i ? "L" : "M") + x(rangeX[0] + (rangeX[1] - rangeX[0]) * i / (values.length - 1)).toFixed(1) + " " + y(value).toFixed(1) : "").join("");
    at.forEach((value, i) => plot.append(svg("circle", { cx: x(value), cy: y(trueValues[i]), r: 2, fill: "var(--quiet)", opacity: .55 })));
    const small = svg("path", { fill: "none", class: "curve m1", stroke: "currentColor" });
    plot.append(small, svg("path", { class: "full", fill: "none", d: line(unpacked(feature.full, range)) }));
    update = level => small.setAttribute("d", level.plane ? line(unpacked(level.plane, range)) : "");
  } else {
    plot.append(svg("line", { class: "here", x1: x(range[0]), y1: y(range[0]), x2: x(range[1]), y2: y(range[1]) }));
    at.forEach((value, i) => { if (known(ofFull[i])) plot.append(svg("circle", { cx: x(value), cy: y(ofFull[i]), r: 3, fill: "none", stroke: "var(--quiet)" })); });
    const dots = svg("g", { class: "m1" });
    plot.append(dots);
    update = level => dots.replaceChildren(...(level.predicted ? unpacked(level.predicted, range) : []).map((value, i) => known(value) ? svg("circle", { cx: x(at[i]), cy: y(value), r: 2, fill: "currentColor" }) : null).filter(Boolean));
  }
  frame(plot, x, y, rangeX, range, feature ? [feature.name, "value"] : ["true", "predicted"]);
  byId("drawing").replaceChildren(el("h2", {}, feature ? "The curve" : "Predicted against true"),
    el("p", { class: "quiet" }, (feature ? "Solid line: this size. Dashed line: the full machine. Dots: true values of rows" : "Filled: this size. Rings: the full machine") + (at.length < figures.rows ? `; ${at.length} of ${count(figures.rows)} rows.` : ".")),
    el("figure", { id: "plane" }, plot));
  byId("drawing").hidden = false;
  return update;
};

// How often the model is right where it is how sure.
const drawReliability = () => {
  const found = figures.reliability;
  if (!found) return;
  const inner = S - PAD - 8, x = value => PAD + inner * value, y = value => 8 + inner * (1 - value), most = Math.max(...found.bins.map(bin => bin[0]));
  const plot = svg("svg", { viewBox: `0 0 ${S} ${S}`, role: "img", "aria-label": "Reliability diagram: the fraction of rows that are right over the mean of their largest probability; on the dashed line both agree." });
  frame(plot, x, y, [0, 1], [0, 1], ["largest probability", "fraction right"]);
  plot.append(svg("path", { class: "full", fill: "none", d: `M${x(0)},${y(0)}L${x(1)},${y(1)}` }));
  plot.append(svg("path", { class: "curve " + colour(0), fill: "none", d: "M" + found.bins.map(([, sure, right]) => `${x(sure)},${y(right)}`).join("L") }));
  for (const [rows, sure, right] of found.bins) {
    const dot = svg("circle", { class: colour(0), cx: x(sure), cy: y(right), r: 3 + 9 * Math.sqrt(rows / most), opacity: .75 });
    dot.append(svg("title", {}, `${count(rows)} rows: ${(100 * sure).toFixed(1)} % sure, ${(100 * right).toFixed(1)} % right`));
    plot.append(dot);
  }
  byId("reliability").hidden = false;
  byId("reliability").replaceChildren(el("h2", {}, "Reliability of the probabilities"), el("p", { class: "quiet" }, `Of the model itself. Calibration error ${short(found.calibration_error)}, log loss ${short(found.log_loss)}; the area of a dot grows with its rows.`), el("figure", {}, plot));
};
