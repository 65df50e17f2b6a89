// SPDX-License-Identifier: Apache-2.0
//
// The engine, in a thread of its own so that typing never waits for it. A message {id, call, in} is answered by {id, result} or {id, error}.
import brotli, { decompress } from "brotli-dec-wasm/web";
import { start } from "./program.js";

async function load(name) {
  const response = await fetch(name);
  if (!response.ok) throw new Error(`${name}: ${response.status} ${response.statusText}`);
  return response;
}

const bytes = async (name) => new Uint8Array(await (await load(name)).arrayBuffer());

// compile returns the module of the engine. Where neither the server tells the browser to unpack it nor scripts can, it loads a decoder.
async function compile() {
  const packed = await load("engine.wasm.br");
  const type = { headers: { "Content-Type": "application/wasm" } };
  if (packed.headers.get("Content-Encoding") === "br") return WebAssembly.compileStreaming(new Response(packed.body, type));
  let native;
  try {
    native = new DecompressionStream("brotli");
  } catch {
    await brotli({ module_or_path: await bytes("brotli.wasm") });
    return WebAssembly.compile(decompress(new Uint8Array(await packed.arrayBuffer())));
  }
  return WebAssembly.compileStreaming(new Response(packed.body.pipeThrough(native), type));
}

const system = {
  now: () => BigInt(Math.round((performance.timeOrigin + performance.now()) * 1e6)),
  random: (part) => crypto.getRandomValues(part),
  print: (text) => console.error(text),
};

let engine = compile().then((module) => start(module, system));

onmessage = async ({ data: { id, call, in: value } }) => {
  try {
    const program = await engine;
    postMessage({ id, ...program.call(call, value) });
  } catch (error) {
    engine = Promise.reject(error); // after a fault, nobody knows its state
    engine.catch(() => {});
    postMessage({ id, error: error instanceof WebAssembly.RuntimeError ? "the engine failed: reload the page" : String(error.message ?? error) });
  }
};
