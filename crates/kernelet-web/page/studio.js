// The page: files in, settings, runs, downloads. It shows what the library answers and computes nothing of its own.
const page = { files: {}, opened: { rows: null, model: null }, levels: [], shown: 0, running: false, fields: null, typed: { train: {}, compress: {} }, suggested: {} };
const usual = { train: ["learner", "kernel", "gamma", "c", "scale"], compress: ["method", "effort"] };
let fields = null;
const kind = () => document.querySelector("[name=kind]:checked").value;
const request = () => kind() === "compress" ? "compress" : "train";

const fail = sentence => { byId("failed").hidden = !sentence; byId("failed").textContent = sentence || ""; };
const note = sentences => byId("notes").replaceChildren(...(sentences || []).map(sentence => el("li", {}, sentence)));

// Settings: every one of the library's requests, by its name.
const field = ({ name, value, help, names }) => {
  const input = names ? el("select", {}, el("option", { value: "" }, names.length === 1 ? "no" : "default"), ...names.map(one => el("option", { value: one }, names.length === 1 ? "yes" : one)))
    : el("input", { placeholder: value || "default", autocomplete: "off", type: "text" });
  input.dataset.setting = name;
  return el("label", { title: help }, name, input);
};
const drawFields = () => {
  if (page.fields) page.typed[page.fields] = settings();
  page.fields = request();
  const all = fields[request()], first = usual[request()], groups = new Map();
  byId("usual").replaceChildren(...first.map(name => all.find(one => one.name === name)).filter(Boolean).map(field));
  for (const one of all.filter(one => !first.includes(one.name))) groups.set(one.group || "Other", [...(groups.get(one.group || "Other") || []), one]);
  byId("more").replaceChildren(...[...groups].flatMap(([name, some]) => [el("h3", {}, name), el("div", { class: "fields" }, ...some.map(field))]));
  for (const [name, value] of Object.entries(page.typed[page.fields])) set(name, value);
  byId("budget").hidden = kind() === "full";
  byId("run").textContent = kind() === "compress" ? "Compress" : "Train";
};
const settings = () => Object.fromEntries([...document.querySelectorAll("[data-setting]")].filter(input => input.value.trim()).map(input => [input.dataset.setting, input.value]));
const set = (name, value) => document.querySelectorAll(`[data-setting="${name}"]`).forEach(input => { input.value = value; });

// Files.
const describe = ({ rows, model }) => [
  rows ? `${rows.name}: ${many(rows.rows, "row")} to train on${rows.test_rows ? `, ${count(rows.test_rows)} to test with` : ""}, ${many(rows.features, "feature")}${rows.labels.length ? `, ${many(rows.labels.length, "class").replace("classs", "classes")}` : ""}.` : "",
  model && !model.failed ? `Model: ${many(model.vectors, "vector")} of ${many(model.features, "feature")}, ${model.kernel}, ${bytes(model.bytes)}${known(model.error) ? ", error " + ofError(model) + " on " + measured() : ""}.` : "",
  model && model.failed ? "Model: " + model.failed : "",
].filter(Boolean).join(" ");
const opened = answer => {
  page.opened = answer;
  page.levels = [];
  byId("made").hidden = true;
  byId("opened").textContent = describe(answer);
  byId("asking").hidden = false;
  if (answer.rows) byId("columns").replaceChildren(...answer.rows.columns.map(value => el("option", { value })));
  document.querySelector("[value=train]").disabled = document.querySelector("[value=full]").disabled = !answer.rows;
  document.querySelector("[value=compress]").disabled = !answer.model;
  if (!answer.rows || !answer.model && kind() === "compress") document.querySelector(answer.rows ? "[value=train]" : "[value=compress]").checked = true;
  drawFields();
  // What was suggested for the rows before is taken back, what was typed stays.
  const suggested = answer.rows ? answer.rows.settings : {}, typed = settings();
  for (const [name, value] of Object.entries(page.suggested)) if (typed[name] === value) set(name, "");
  for (const [name, value] of Object.entries(suggested)) set(name, value);
  page.suggested = suggested;
  note(answer.rows ? answer.rows.notes : []);
  if (!answer.model || answer.model.failed) return;
  page.levels = [{ ...answer.model, machine: null, file: null }];
  byId("made").hidden = false;
  show(0);
};
const openFile = async (question, file, what) => {
  if (page.running) return fail("Cancel the run before another file is opened.");
  fail("");
  byId("opened").textContent = "Reading …";
  const { answer } = await ask(question, file);
  if (answer.failed) { byId("opened").textContent = describe(page.opened); fail(answer.failed); return; }
  const kept = what || answer.opened;
  if (kept === "rows") delete page.files.test;
  page.files[kept] = { question, file };
  if (!answer.model) delete page.files.model;
  if (!answer.rows) { delete page.files.rows; delete page.files.test; }
  opened(answer);
};
const open = async file => openFile({ do: "open", name: file.name, target: byId("target").value, settings: request() === "train" ? settings() : page.typed.train }, await file.arrayBuffer());

const reopen = () => {
  const { rows } = page.files;
  if (rows && rows.file) openFile({ ...rows.question, target: byId("target").value, settings: request() === "train" ? settings() : page.typed.train }, rows.file, "rows");
};

// Runs: machine after machine, each shown as it comes.
const run = async () => {
  if (page.running) return;
  page.running = true;
  [byId("run").disabled, byId("cancel").disabled, byId("progress").hidden] = [true, false, false];
  fail("");
  note([]);
  const given = settings(), kindNow = kind(), notes = new Set();
  page.levels = [];
  try {
    const sizes = kindNow === "full" ? [null] : (await ask({ do: "sizes", largest: Math.max(1, Math.round(Number(byId("vectors").value)) || 1) })).answer;
    for (const size of sizes) {
      byId("doing").textContent = size === null ? "The full machine …" : many(size, "vector") + " …";
      byId("progress").removeAttribute("value");
      const clock = performance.now();
      const { answer, file, stopped } = await ask(kindNow === "compress" ? { do: "compress", settings: given, vectors: size } : { do: "train", settings: given, vectors: size });
      if (stopped) { byId("doing").textContent = `Stopped: ${many(page.levels.length, "machine")} kept; what was in progress is lost.`; break; }
      if (answer.failed) { fail(answer.failed); byId("doing").textContent = ""; break; }
      (answer.notes || []).forEach(sentence => notes.add(sentence));
      note([...notes]);
      if (kindNow === "full") {
        page.files.model = { question: { do: "open", name: "full.model", target: "", settings: {} }, file };
        page.opened.model = answer;
        document.querySelector("[value=compress]").disabled = false;
        byId("opened").textContent = describe(page.opened);
      }
      if (page.levels.some(level => level.vectors === answer.vectors)) continue;
      page.levels.push({ ...answer, file, seconds: (performance.now() - clock) / 1e3 });
      byId("made").hidden = false;
      show(page.levels.length - 1);
      byId("doing").textContent = "Done: " + many(page.levels.length, "machine") + ".";
    }
  } finally {
    page.running = false;
    [byId("run").disabled, byId("cancel").disabled, byId("progress").hidden] = [false, true, true];
    await restored();
    if (page.levels.length) show(page.shown);
  }
};
library.onprogress = ({ done, total }) => {
  const bar = byId("progress");
  if (total) { bar.max = total; bar.value = done; } else bar.removeAttribute("value");
};

// Downloads.
const formats = [["native", "Model"], ["c", "C source"], ["header", "C header"], ["onnx", "ONNX"], ["javascript", "JavaScript"], ["json", "JSON"], ["libsvm", "LIBSVM"]];
const save = (name, file) => {
  const address = URL.createObjectURL(new Blob([file], { type: "application/octet-stream" }));
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1e4);
};
const exported = to => ask(to === "outputs" ? { do: "outputs", machine: place() } : { do: "export", machine: place(), to, name: page.opened.rows ? page.opened.rows.name : "model" });
const download = async to => {
  const { answer, file } = await exported(to);
  if (answer.failed) { fail(answer.failed); byId("failed").scrollIntoView({ block: "center" }); return; }
  fail("");
  save(answer.name, file);
};

const begin = async () => {
  byId("downloads").append(...[...formats, ["outputs", "Outputs of the rows (CSV)"]].map(([to, name]) => {
    const button = el("button", { type: "button", "data-to": to }, name);
    button.addEventListener("click", () => download(to));
    return button;
  }));
  byId("digits").addEventListener("click", () => openFile({ do: "digits", name: "digits" }, null, "rows"));
  byId("file").addEventListener("change", event => { if (event.target.files.length) open(event.target.files[0]); event.target.value = ""; });
  byId("test-file").addEventListener("change", async event => { const [file] = event.target.files; if (file) openFile({ do: "test", name: file.name }, await file.arrayBuffer(), "test"); event.target.value = ""; });
  byId("target").addEventListener("change", reopen);
  document.addEventListener("dragover", event => { event.preventDefault(); byId("drop").classList.add("over"); });
  document.addEventListener("dragleave", () => byId("drop").classList.remove("over"));
  document.addEventListener("drop", event => { event.preventDefault(); byId("drop").classList.remove("over"); if (event.dataTransfer.files.length) open(event.dataTransfer.files[0]); });
  byId("kinds").addEventListener("change", drawFields);
  // What the target is read as follows from these.
  byId("asking").addEventListener("change", ({ target }) => { if (["learner", "task"].includes(target.dataset.setting)) reopen(); });
  byId("run").addEventListener("click", run);
  byId("cancel").addEventListener("click", stopWorker);
  byId("size").addEventListener("input", event => show(Number(event.target.value)));
  beginTrying();
  byId("opened").textContent = "Unpacking the library …";
  try {
    library.module = await WebAssembly.compile(await unpacked());
    await startWorker();
    fields = (await ask({ do: "fields" })).answer;
    byId("opened").textContent = "";
    document.body.dataset.ready = "yes";
  } catch (error) {
    byId("opened").textContent = "This browser cannot run the library: " + error.message;
  }
};
