// SPDX-License-Identifier: Apache-2.0

const worker = new Worker("worker.js");
const waiting = new Map();
let last = 0;

worker.onmessage = ({ data }) => {
  const calls = data.id === undefined ? [...waiting.keys()] : [data.id];
  for (const id of calls) {
    const { resolve, reject } = waiting.get(id) ?? {};
    waiting.delete(id);
    if (data.error !== undefined) reject?.(new Error(data.error));
    else resolve?.(data.result);
  }
};
worker.onerror = (event) => worker.onmessage({ data: { error: event.message || "the engine cannot be loaded: serve the page over HTTP" } });

// call calls a function of the engine: ask or choices.
export function call(name, value) {
  return new Promise((resolve, reject) => {
    waiting.set(++last, { resolve, reject });
    worker.postMessage({ id: last, call: name, in: value });
  });
}
