// A thread that helps the worker: an instance on the same memory, which computes until the worker
// ends (engine.c, `help`).
self.onmessage = ({ data: { module, memory, engine, stack } }) => {
  const { help } = new WebAssembly.Instance(module, { env: { memory } }).exports;
  self.postMessage(null);
  if (typeof help === "function") help(engine, stack);
};
