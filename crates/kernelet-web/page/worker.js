"use strict";
// The library on a thread of its own: a question with a file in, an answer with a file out.
let library = null;
const encoder = new TextEncoder(), decoder = new TextDecoder();
const part = (at, length) => new Uint8Array(library.memory.buffer, at >>> 0, length >>> 0);
/* What the module takes from the page. Dependencies may name functions of other hosts, which are never called here; a call of one is an error. */
const needed = module => {
  const given = { host };
  const missing = name => () => { throw new Error("the page has no " + name); };
  for (const { module: from, name } of WebAssembly.Module.imports(module)) if (from !== "host") (given[from] = given[from] || {})[name] = missing(name);
  return given;
};
let reported = 0;
const host = {
  seconds: () => performance.now() / 1e3,
  progress: (at, length) => {
    if (performance.now() - reported < 100) return;
    reported = performance.now();
    postMessage({ progress: JSON.parse(decoder.decode(part(at, length))) });
  },
};
const answered = (question, file) => {
  const asked = encoder.encode(JSON.stringify(question)), given = new Uint8Array(file || []);
  const buffer = library.kernelet_buffer(asked.length + given.length);
  part(buffer, asked.length).set(asked);
  part(buffer + asked.length, given.length).set(given);
  const length = library.kernelet_answer(asked.length);
  const answer = JSON.parse(decoder.decode(part(library.kernelet_reply(), length)));
  const size = library.kernelet_file_bytes();
  return { answer, file: size ? part(library.kernelet_file(), size).slice().buffer : null };
};
onmessage = async ({ data }) => {
  if (data.module) {
    library = (await WebAssembly.instantiate(data.module, needed(data.module))).exports;
    postMessage({ ready: true });
    return;
  }
  try {
    postMessage({ id: data.id, ...answered(data.question, data.file) });
  } catch (error) {
    // A trap: memory has run out, or there is a defect. The page starts another worker.
    postMessage({ id: data.id, broken: true, answer: { failed: "the library has stopped (" + error.message + "); the rows may need more memory than a page has" } });
  }
};
