// The library: unpacked once, and a worker that answers one question after the other and can be stopped at any moment.
const packed = () => Uint8Array.from(atob(byId("library").textContent.replace(/\s/g, "")), character => character.charCodeAt(0));
const unpacked = async () => new Response(new Blob([packed()]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
const library = { module: null, worker: null, restoring: null, waiting: new Map(), next: 0, onprogress: () => {} };

const startWorker = () => new Promise(resolve => {
  const address = URL.createObjectURL(new Blob([byId("worker").textContent], { type: "text/javascript" }));
  const worker = new Worker(address);
  worker.onmessage = ({ data }) => {
    if (data.ready) { URL.revokeObjectURL(address); return resolve(); }
    if (data.progress) return library.onprogress(data.progress);
    const done = library.waiting.get(data.id);
    library.waiting.delete(data.id);
    if (data.broken) stopWorker();
    if (done) done(data);
  };
  worker.postMessage({ module: library.module });
  library.worker = worker;
});
/* Ends the work at once. Whoever waits is told that it was stopped. */
const stopWorker = () => {
  if (library.worker) library.worker.terminate();
  library.worker = null;
  const waiting = [...library.waiting.values()];
  library.waiting.clear();
  waiting.forEach(done => done({ stopped: true, answer: { failed: "stopped" } }));
};
const sent = (question, file) => new Promise(done => {
  const id = library.next++;
  library.waiting.set(id, done);
  library.worker.postMessage({ id, question, file });
});
/* Opens again what was open, in a new worker: the page keeps all files and machines. */
const restore = async () => {
  await startWorker();
  for (const file of [page.files.rows, page.files.test, page.files.model]) if (file) await sent(file.question, file.file);
  for (const level of page.levels) if (level.file) level.machine = (await sent({ do: "keep" }, level.file)).answer.machine;
};
const restored = () => {
  if (!library.worker && !library.restoring) library.restoring = restore().finally(() => { library.restoring = null; });
  return library.restoring || Promise.resolve();
};
const ask = async (question, file) => {
  await restored();
  return sent(question, file);
};
