// A row that is typed, drawn or taken from the test rows, and its prediction.
let testRow = -1;
const place = () => here().machine === undefined ? null : here().machine;
const pixels = () => byId("row").value.split(",").map(Number);
const predict = async () => {
  const row = byId("row").value;
  if (!row.trim() || !page.levels.length) return;
  drawPad();
  const { answer } = await ask({ do: "predict", machine: place(), row });
  if (row !== byId("row").value) return;
  const table = byId("outputs");
  table.replaceChildren();
  if (answer.failed) { byId("predicted").textContent = answer.failed; return; }
  byId("predicted").textContent = answer.label !== null ? "Predicted: " + answer.label : "Predicted: " + answer.values.map(value => digits(value, 6)).join(", ");
  const shown = answer.probabilities || answer.outputs, most = Math.max(...shown.map(Math.abs), Number.MIN_VALUE);
  const named = shown.length === answer.labels.length ? answer.labels : shown.map((_, i) => "output " + (i + 1));
  const bar = number => { const box = el("span", { class: "bar" }); box.style.width = (100 * Math.max(number, 0) / most).toFixed(1) + "%"; return el("td", { class: "bars" }, box); };
  table.append(el("thead", {}, el("tr", {}, el("th", { scope: "col" }, answer.labels.length ? "class" : ""), el("th", { scope: "col" }, answer.probabilities ? "probability" : "output"), el("th", { "aria-hidden": "true" }))),
    el("tbody", {}, ...shown.slice(0, 40).map((number, i) => el("tr", named[i] === answer.label ? { class: "on" } : {}, el("th", { scope: "row" }, named[i]), el("td", { "data-output": String(number) }, short(number)), bar(number)))));
};
const drawPad = () => {
  const { image: size, range } = here(), pad = byId("pad");
  if (!size) return;
  const row = pixels(), context = pad.getContext("2d");
  if (row.length !== size[0] * size[1]) return;
  context.imageSmoothingEnabled = false;
  context.drawImage(image(row, size, range, ""), 0, 0, pad.width, pad.height);
};
const emptyPad = () => {
  const { image: size, range } = here();
  if (size) byId("row").value = Array(size[0] * size[1]).fill(range[0]).join(",");
  drawPad();
};
/* A stroke of ink, which is soft at its sides as in scanned digits. */
const ink = event => {
  const { image: [width, height], range: [low, high] } = here(), pad = byId("pad"), box = pad.getBoundingClientRect();
  let row = pixels();
  if (row.length !== width * height || row.some(Number.isNaN)) row = Array(width * height).fill(low);
  const [a, b] = [(event.clientX - box.left) / box.width * width - .5, (event.clientY - box.top) / box.height * height - .5];
  const thick = Math.max(width, height) / 8;
  row = row.map((value, i) => Math.max(value, low + (high - low) * Math.max(0, Math.min(1, 1.35 - Math.hypot(i % width - a, Math.floor(i / width) - b) / thick))));
  byId("row").value = row.map(value => Number(value.toFixed(3))).join(",");
};
const beginTrying = () => {
  const pad = byId("pad");
  const stroke = event => { if (event.buttons & 1) { ink(event); predict(); } };
  pad.addEventListener("pointerdown", event => { pad.setPointerCapture(event.pointerId); stroke(event); });
  pad.addEventListener("pointermove", stroke);
  byId("clear").addEventListener("click", () => { emptyPad(); byId("predicted").textContent = ""; byId("outputs").replaceChildren(); });
  byId("row").addEventListener("input", predict);
  byId("next-row").addEventListener("click", async () => {
    const { answer } = await ask({ do: "row", place: ++testRow });
    if (answer.failed) { byId("predicted").textContent = answer.failed; return; }
    byId("row").value = answer.row;
    await predict();
    if (answer.truth !== null) byId("predicted").textContent += ` (row ${answer.place}, true ${answer.truth})`;
  });
};
