// The page as a whole, and what follows the slider.
// Where the figures come from.
const provenance = () => {
  const from = figures.provenance, pairs = [["command", el("code", {}, from.command)], ["version", "kernelet " + from.version]];
  for (const file of from.files) pairs.push([file.what, `${file.name}${known(file.rows) ? `, ${count(file.rows)} rows` : ""}${file.sha256 ? `, SHA-256 ${file.sha256}` : ""}`]);
  pairs.push(["full machine", `${full.learner ? full.learner + ", " : ""}${full.kernel}; ${many(full.vectors, "vector")} of ${many(full.dim, "feature")}, ${many(full.outputs, "output")}`]);
  pairs.push(["seed", String(from.seed)], ["machine", `${many(from.cores, "core")}, ${many(from.threads, "thread")}; times for rows are on one thread, the best of several runs`]);
  byId("provenance").append(el("dl", {}, ...pairs.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])));
};

// All that follows the slider.
const slider = byId("size");
let drawing = null;
const show = (method, level) => {
  state.method = method;
  state.level = Math.max(0, Math.min(level, levels(method).length - 1));
  const shown = levels(method)[state.level];
  slider.max = levels(method).length - 1;
  slider.value = state.level;
  slider.setAttribute("aria-valuetext", count(shown.vectors) + " vectors");
  byId("size-shown").textContent = count(shown.vectors);
  byId("methods").querySelectorAll("input").forEach((input, place) => { input.checked = place === method; });
  byId("summary").textContent = sentence(shown);
  const chosen = method === figures.chosen.method && state.level === figures.chosen.level;
  byId("why").textContent = chosen && figures.chosen.why ? "Shown first: " + figures.chosen.why + "." : figures.methods[method].name + " " + figures.methods[method].about + "." + (figures.methods[method].note ? " " + figures.methods[method].note + "." : "");
  byId("cards").replaceChildren(...cards(shown));
  charts.forEach(one => one.move(shown));
  compared(shown);
  confusion(shown);
  drawnVectors(shown);
  differingRows(shown);
  if (drawing) drawing(shown);
};

const begin = () => {
  provenance();
  featureScales();
  drawReliability();
  if (figures.notes.length) { byId("notes").hidden = false; byId("notes-list").append(...figures.notes.map(note => el("li", {}, note))); }
  if (!allLevels.length) return;
  byId("controls").hidden = false;
  byId("compared").hidden = false;
  byId("methods").append(...figures.methods.map((method, place) => {
    const input = el("input", { type: "radio", name: "method", value: place });
    input.addEventListener("change", () => show(place, beside(place, levels(state.method)[state.level].vectors)));
    return el("label", { class: colour(place), title: method.about }, input, " " + method.name);
  }));
  const plots = kinds.map(chart).filter(Boolean);
  byId("curves").append(...plots);
  byId("curves").after(legend());
  if (figures.plane) drawing = drawPlane(); else if (figures.values) drawing = drawValues();
  slider.addEventListener("input", () => show(state.method, Number(slider.value)));
  show(state.method, state.level);
};
begin();
