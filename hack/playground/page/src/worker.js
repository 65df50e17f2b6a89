// SPDX-License-Identifier: Apache-2.0
//
// The engine, in a thread of its own so that typing never waits for it. A message {id, call, in} is answered by {id, result} or {id, error}.
import brotli, { decompress } from "brotli-dec-wasm/web";

importScripts("wasm_exec.js"); // sets Go

async function load(name) {
  const response = await fetch(name);
  if (!response.ok) throw new Error(`${name}: ${response.status} ${response.statusText}`);
  return response;
}

const bytes = async (name) => new Uint8Array(await (await load(name)).arrayBuffer());

// engine returns the program of the engine. Browsers that cannot unpack it load a decoder.
async function engine() {
  const packed = load("engine.wasm.br");
  const type = { headers: { "Content-Type": "application/wasm" } };
  let native;
  try {
    native = new DecompressionStream("brotli");
  } catch {
    await brotli({ module_or_path: await bytes("brotli.wasm") });
    return WebAssembly.compile(decompress(new Uint8Array(await (await packed).arrayBuffer())));
  }
  return WebAssembly.compileStreaming(new Response((await packed).body.pipeThrough(native), type));
}

async function start() {
  const go = new self.Go();
  go.env = { GOGC: "400" }; // memory is cheaper than the reader's time
  const instance = await WebAssembly.instantiate(await engine(), go.importObject);
  go.run(instance).then(() => postMessage({ error: "the engine ended: reload the page" }));
}

const started = start();

onmessage = async ({ data: { id, call, in: value } }) => {
  try {
    await started;
    postMessage({ id, ...JSON.parse(self.llamastack[call](JSON.stringify(value))) });
  } catch (error) {
    postMessage({ id, error: String(error.message ?? error) });
  }
};
