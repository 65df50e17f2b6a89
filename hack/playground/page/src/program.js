// SPDX-License-Identifier: Apache-2.0
//
// Runs the engine, a program for the system interface WASI (preview 1), of which it needs very little: it has no files and no variables.
const ok = 0;
const noFile = 8; // EBADF
const name = "engine\0";

// start returns the instance of a module, and call, which calls one of its functions. Now returns the time in nanoseconds, random fills bytes, print
// gets what the program writes, and variables are those of its environment.
export async function start(module, { now, random, print, variables = [] }) {
  let memory;
  const view = () => new DataView(memory.buffer);
  const bytes = (at, size) => new Uint8Array(memory.buffer, at, size);
  // list writes texts that end with a zero, and where each begins; sizes tells how many they are.
  const list = (texts) => (table, at) => {
    for (const text of texts) {
      view().setUint32(table, at, true);
      at += new TextEncoder().encodeInto(text, bytes(at)).written;
      table += 4;
    }
    return ok;
  };
  const sizes = (texts) => (count, size) => {
    view().setUint32(count, texts.length, true);
    view().setUint32(size, texts.join("").length, true);
    return ok;
  };
  const environment = variables.map((variable) => variable + "\0");
  const known = {
    args_get: list([name]), args_sizes_get: sizes([name]), environ_get: list(environment), environ_sizes_get: sizes(environment),
    clock_time_get(_clock, _precision, at) {
      view().setBigUint64(at, now(), true);
      return ok;
    },
    random_get(at, size) {
      random(bytes(at, size));
      return ok;
    },
    sched_yield: () => ok,
    // Only the collector waits, for moments: every wait is over at once.
    poll_oneoff(subscriptions, events, count, happened) {
      bytes(events, 32).fill(0);
      bytes(events, 8).set(bytes(subscriptions, 8));
      view().setUint32(happened, 1, true);
      return ok;
    },
    fd_write(_file, vectors, count, written) {
      let size = 0;
      for (let i = 0; i < count; i++) {
        const part = bytes(view().getUint32(vectors + 8 * i, true), view().getUint32(vectors + 8 * i + 4, true));
        print(new TextDecoder().decode(part));
        size += part.length;
      }
      view().setUint32(written, size, true);
      return ok;
    },
    proc_exit() {
      throw new WebAssembly.RuntimeError("the program ended");
    },
  };
  const imports = {};
  for (const needed of WebAssembly.Module.imports(module)) {
    (imports[needed.module] ??= {})[needed.name] = known[needed.name] ?? (() => noFile);
  }
  const instance = await WebAssembly.instantiate(module, imports);
  memory = instance.exports.memory;
  return {
    instance,
    call(function_, value) {
      const question = new TextEncoder().encode(JSON.stringify(value));
      bytes(instance.exports.input(question.length), question.length).set(question);
      const size = instance.exports[function_]();
      return JSON.parse(new TextDecoder().decode(bytes(instance.exports.output(), size)));
    },
  };
}
