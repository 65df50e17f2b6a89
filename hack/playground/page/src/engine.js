// SPDX-License-Identifier: Apache-2.0

const worker = new Worker("worker.js");
const waiting = new Map();
let last = 0;
let broken; // why the engine answers nothing any more

worker.onmessage = ({ data: { id, result, error } }) => {
  const { resolve, reject } = waiting.get(id);
  waiting.delete(id);
  if (error !== undefined) reject(new Error(error));
  else resolve(result);
};
// It can fail before the first call.
worker.onerror = (event) => {
  broken = new Error(event.message || "the engine cannot be loaded: serve the page over HTTP");
  for (const { reject } of waiting.values()) reject(broken);
  waiting.clear();
};

// call calls a function of the engine: ask or choices.
export function call(name, value) {
  return new Promise((resolve, reject) => {
    if (broken) throw broken;
    waiting.set(++last, { resolve, reject });
    worker.postMessage({ id: last, call: name, in: value });
  });
}
