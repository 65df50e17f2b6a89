// SPDX-License-Identifier: Apache-2.0
//
// snapshot.mjs SOURCE TARGET PAGE: runs a module of the engine until it has answered about the page's first sample for the newest release lines, and
// writes a module that begins there: with the memory and the globals that it has then, and without the code that only its start needs. So a reader's
// browser does not repeat what is the same for all readers. Between two calls, a program has no state but these: its stack is in the memory.
// The same source and page give the same target. PAGE is what hack/playground writes; standard input has the paths of the packages of the engine.
import fs from "node:fs";
import { start } from "./page/src/program.js";

const [source, target, page] = process.argv.slice(2);
const wasm = fs.readFileSync(source);
const { samples: [{ text: sample }], lines } = JSON.parse(fs.readFileSync(page, "utf8"));
const [CUSTOM, IMPORT, MEMORY, GLOBAL, EXPORT, CODE, DATA] = [0, 2, 5, 6, 7, 10, 11];
const unit = 65536; // of the size of a memory
// Between two pieces of data are more zeros than the header of a piece has bytes.
const gap = 64;

// A reader of numbers and texts, from a place in the module.
class Reader {
  constructor(at) {
    this.at = at;
  }
  byte() {
    return wasm[this.at++];
  }
  number() {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.byte();
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }
  bytes(size) {
    this.at += size;
    return wasm.subarray(this.at - size, this.at);
  }
  text() {
    return this.bytes(this.number()).toString();
  }
}

function unsigned(value) {
  const out = [];
  for (; value > 127; value = Math.floor(value / 128)) out.push((value % 128) | 128);
  return [...out, value];
}

function signed(value) {
  const out = [];
  for (let rest = BigInt.asIntN(64, BigInt(value)); ; rest >>= 7n) {
    const byte = Number(rest & 127n);
    if (rest >> 6n === 0n || rest >> 6n === -1n) return [...out, byte];
    out.push(byte | 128);
  }
}

const text = (value) => [...unsigned(value.length), ...Buffer.from(value)];

function sectionsOf() {
  const list = [];
  const from = new Reader(8);
  while (from.at < wasm.length) {
    const id = from.byte();
    const size = from.number();
    list.push({ id, at: from.at, body: from.bytes(size) });
  }
  return list;
}

const sections = sectionsOf();
const section = (id) => sections.find((s) => s.id === id);

// write returns the module with other sections, by their number; those of undefined are left out.
function write(others) {
  const kept = sections.map(({ id, body }) => ({ id, body: id in others ? others[id] : body })).filter(({ body }) => body);
  return Buffer.concat([wasm.subarray(0, 8), ...kept.flatMap(({ id, body }) => [Buffer.from([id, ...unsigned(body.length)]), body])]);
}

// globals are the types of the globals, which are all numbers.
function globalsOf() {
  const from = new Reader(section(GLOBAL).at);
  return Array.from({ length: from.number() }, () => {
    const global = { type: from.byte(), mutable: from.byte() };
    from.byte(); // the instruction of the constant
    from.number();
    from.byte(); // its end
    return global;
  });
}

// readable is the module with its globals exported, by their numbers.
function readable(globals) {
  const { at, body } = section(EXPORT);
  const from = new Reader(at);
  const count = from.number();
  const added = globals.flatMap((_, i) => [...text(String(i)), 3, ...unsigned(i)]);
  return write({ [EXPORT]: Buffer.concat([Buffer.from(unsigned(count + globals.length)), body.subarray(from.at - at), Buffer.from(added)]) });
}

async function ready(module) {
  let time = 0n;
  const system = {
    now: () => (time += 1000n), random: (bytes) => bytes.fill(42), print: (written) => process.stderr.write(written),
    variables: ["GOGC=15"], // less garbage is in the way of what stays
  };
  const { instance, call } = await start(module, system);
  instance.exports._initialize();
  for (const release of [...lines.slice(0, lines.length / 2), ""]) {
    const { error, result } = call("ask", { text: sample, release });
    if (error || result.problems.some((p) => p.severity === "error")) throw new Error(`${release}: ${error ?? JSON.stringify(result.problems)}`);
  }
  instance.exports.settle();
  return instance.exports;
}

// initializers are the functions that initialize packages, by their number among those of the module: Go calls each of them once, at the start.
function initializers() {
  const packages = fs.readFileSync(0, "utf8").trim().split("\n");
  // The linker escapes dots in the last part of a path, and writes _ for what cannot be in a name.
  const names = new Set(packages.map((path) => path.replace(/\.(?=[^/]*$)/g, (dot, at) => (path.lastIndexOf("/") < 0 ? dot : "%2e")).replace(/[^\w.]/g, "_")));
  const imported = new Reader(section(IMPORT).at).number();
  const found = new Set();
  for (const { at, body } of sections.filter(({ id }) => id === CUSTOM)) {
    const from = new Reader(at);
    if (from.text() !== "name") continue;
    while (from.at < at + body.length) {
      const kind = from.byte();
      const end = from.number() + from.at;
      for (let left = kind === 1 ? from.number() : 0; left > 0; left--) {
        const number = from.number();
        const [, owner] = /^(.*?)(?:\.map)?\.init(?:\.\d+)?$/.exec(from.text()) ?? [];
        if (names.has(owner)) found.add(number - imported);
      }
      from.at = end;
    }
  }
  if (found.size < packages.length / 3) throw new Error(`only ${found.size} initializers have names: link without -s`);
  return found;
}

// codeOf returns the functions, without what those do that are no longer called.
function codeOf(unused) {
  const from = new Reader(section(CODE).at);
  const count = from.number();
  const trap = Buffer.from([3, 0, 0x00, 0x0b]);
  const parts = [Buffer.from(unsigned(count))];
  for (let i = 0; i < count; i++) {
    const body = from.bytes(from.number());
    if (unused.has(i)) parts.push(trap);
    else parts.push(Buffer.from(unsigned(body.length)), body);
  }
  return Buffer.concat(parts);
}

// dataOf returns the section that fills the memory; zeros are left out.
function dataOf(memory) {
  const pieces = [];
  for (let at = 0; at < memory.length;) {
    while (at < memory.length && memory[at] === 0) at++;
    const from = at;
    let zeros = 0;
    for (; at < memory.length && zeros < gap; at++) zeros = memory[at] === 0 ? zeros + 1 : 0;
    if (at - zeros > from) pieces.push([from, at - zeros]);
  }
  const parts = pieces.flatMap(([from, to]) => [Buffer.from([0, 0x41, ...signed(from), 0x0b, ...unsigned(to - from)]), memory.subarray(from, to)]);
  return Buffer.concat([Buffer.from(unsigned(pieces.length)), ...parts]);
}

const globals = globalsOf();
const exported = await ready(await WebAssembly.compile(readable(globals)));
const memory = Buffer.from(exported.memory.buffer);
const constant = { 0x7f: 0x41, 0x7e: 0x42 }; // of an i32, an i64
fs.writeFileSync(target, write({
  [CUSTOM]: undefined,
  [MEMORY]: Buffer.from([1, 0, ...unsigned(memory.length / unit)]),
  [GLOBAL]: Buffer.from([...unsigned(globals.length), ...globals.flatMap(({ type, mutable }, i) => [type, mutable, constant[type], ...signed(exported[i].value), 0x0b])]),
  [CODE]: codeOf(initializers()),
  [DATA]: dataOf(memory),
}));
