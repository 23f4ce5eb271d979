// Tables of the report that the studio has too.
/* The confusion of classes: a matrix, or where there are many classes the pairs that are confused most often. */
const drawConfusion = (table, about, { names, cells, rest, rowsName }) => {
  const label = place => names[place] === undefined ? "?" : names[place];
  if (names.length > 26) {
    about.textContent = `With ${count(names.length)} classes, the pairs that are confused most often${rest ? `; ${count(rest)} more rows are in other pairs` : ""}.`;
    table.className = "pairs";
    table.replaceChildren(el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "true"), el("th", { scope: "col" }, "predicted"), el("th", { scope: "col" }, "rows"))),
      el("tbody", {}, ...cells.map(([truth, predicted, rows]) => el("tr", {}, el("td", {}, label(truth)), el("td", {}, label(predicted)), el("td", {}, count(rows))))));
    return;
  }
  about.textContent = `Counts of ${rowsName}: rows are true classes, columns are predicted classes.`;
  const counts = names.map(() => names.map(() => 0)), sums = names.map(() => 0);
  for (const [truth, predicted, rows] of cells) { counts[truth][predicted] = rows; sums[truth] += rows; }
  const cell = (truth, predicted) => {
    const rows = counts[truth][predicted], part = rows / Math.max(sums[truth], 1), right = truth === predicted;
    const box = el("td", { title: `true ${label(truth)}, predicted ${label(predicted)}: ${count(rows)}` }, rows ? count(rows) : "");
    if (rows) box.style.background = `color-mix(in srgb, var(--${right ? "accent" : "wrong"}) ${Math.round(right ? 12 + 25 * part : 18 + 50 * part)}%, transparent)`;
    return box;
  };
  table.className = "";
  table.replaceChildren(
    el("thead", {}, el("tr", {}, el("th", {}, "true \\ predicted"), ...names.map(name => el("th", { scope: "col", title: name }, name)))),
    el("tbody", {}, ...names.map((name, truth) => el("tr", {}, el("th", { scope: "row", title: name }, name), ...names.map((_, predicted) => cell(truth, predicted))))));
};

/* Learned scales of features, given as names with numbers, the largest first. */
const drawScales = (table, about, ranked) => {
  const shown = ranked.slice(0, 30);
  about.textContent = "The learned scale of each standardised feature, the largest first" + (ranked.length > shown.length ? `; ${count(ranked.length - shown.length)} more have smaller scales` : "") + ".";
  const most = Math.max(...ranked.map(([, scale]) => scale), Number.MIN_VALUE);
  const bar = scale => { const box = el("span", { class: "bar" }); box.style.width = (100 * scale / most).toFixed(1) + "%"; return el("td", { class: "bars" }, box); };
  table.replaceChildren(
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "feature"), el("th", { scope: "col" }, "scale"), el("th", { "aria-hidden": "true" }))),
    el("tbody", {}, ...shown.map(([name, scale]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, short(scale)), bar(scale)))));
};
