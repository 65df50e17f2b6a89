// SPDX-License-Identifier: Apache-2.0
import { setDiagnostics } from "@codemirror/lint";
import { difference } from "./difference.js";
import { reader, show, writer } from "./editor.js";
import { call } from "./engine.js";
import { pack, unpack } from "./share.js";

const at = (id) => document.getElementById(id);
const views = ["config", "objects", "difference"];
const choices = new Map();

const editor = writer("editor", "Your YAML", fieldsOf, ask);
const shown = { config: reader("config", "config.yaml that the server gets"), objects: reader("objects", "Objects that the operator applies") };
let answer = null;
let asking = false;
let again = false;
let changed = 0;

// fieldsOf returns what can stand at a path; the engine is asked once.
function fieldsOf(path) {
  const place = { path, release: at("release").value };
  const key = JSON.stringify(place);
  if (!choices.has(key)) choices.set(key, call("choices", place));
  return choices.get(key);
}

// ask asks about the text. What is typed while the engine works is asked afterwards, once.
async function ask() {
  if (!again) changed = performance.now();
  again = asking;
  if (asking) return;
  asking = true;
  const since = changed;
  try {
    answer = await call("ask", { text: editor.state.doc.toString(), release: at("release").value, compare: at("compare").value });
  } catch (error) {
    answer = { problems: [{ line: 1, severity: "error", message: error.message }], config: "", objects: "" };
  }
  asking = false;
  if (again) {
    again = false;
    changed = since;
    void ask();
    return;
  }
  present();
  performance.measure("answer", { start: since });
}

function present() {
  const failed = answer.problems.some((p) => p.severity === "error");
  for (const name of ["config", "objects"]) {
    at(name).classList.toggle("waiting", failed); // the last good answer stays readable
    if (!failed && !at("panel-" + name).hidden) show(shown[name], answer[name]);
  }
  if (!at("panel-difference").hidden) at("difference").replaceChildren(...difference(answer, at("compare").value));
  const count = (severity) => answer.problems.filter((p) => p.severity === severity).length;
  const words = [[count("error"), "error"], [count("warning"), "warning"], [count("note"), "note"]]
    .filter(([n]) => n > 0).map(([n, word]) => `${n} ${word}${n > 1 ? "s" : ""}`);
  const text = (words.join(", ") || "No problems") + (answer.release ? `. Server release line ${answer.release}` : "") + ".";
  if (at("status").textContent !== text) at("status").textContent = text; // read out only where it is another one
  at("problems").replaceChildren(...answer.problems.map(row));
  mark();
}

// row is a problem, which leads to its line.
function row(problem) {
  const item = document.createElement("li");
  const button = document.createElement("button");
  button.type = "button";
  button.className = problem.severity;
  button.textContent = `Line ${problem.line}, ${problem.severity}: `;
  const message = document.createElement("span");
  message.className = "message";
  message.textContent = problem.message;
  button.append(message);
  button.onclick = () => {
    editor.dispatch({ selection: { anchor: lineOf(problem).from }, scrollIntoView: true });
    editor.focus();
  };
  item.append(button);
  return item;
}

const lineOf = (problem) => editor.state.doc.line(Math.min(Math.max(problem.line, 1), editor.state.doc.lines));

function mark() {
  editor.dispatch(setDiagnostics(editor.state, answer.problems.map((problem) => {
    const line = lineOf(problem);
    const indent = line.text.length - line.text.trimStart().length;
    return { from: line.from + indent, to: line.to, severity: problem.severity === "note" ? "info" : problem.severity, message: problem.message };
  })));
}

function select(name, focus) {
  for (const view of views) {
    const tab = at("tab-" + view);
    tab.setAttribute("aria-selected", String(view === name));
    tab.tabIndex = view === name ? 0 : -1;
    at("panel-" + view).hidden = view !== name;
  }
  if (focus) at("tab-" + name).focus();
  if (answer) present();
}

function connect(samples) {
  for (const view of views) {
    at("tab-" + view).onclick = () => select(view);
    at("tab-" + view).onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) select(views[(views.indexOf(view) + step + views.length) % views.length], true);
    };
  }
  at("sample").onchange = () => {
    const sample = samples.find((s) => s.name === at("sample").value);
    if (sample) write(sample.text);
  };
  at("release").onchange = ask;
  at("compare").onchange = () => {
    if (at("compare").value) select("difference");
    ask();
  };
  at("share").onclick = share;
}

const write = (text) => editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });

async function share() {
  const question = { text: editor.state.doc.toString(), release: at("release").value, compare: at("compare").value };
  history.replaceState(null, "", "#" + (await pack(question)));
  try {
    await navigator.clipboard.writeText(location.href);
    at("shared").textContent = "Copied. Whoever has the link sees your YAML.";
  } catch {
    at("shared").textContent = "The address of this page is the link.";
  }
}

// begin fills the page from the link, else from the first sample.
async function begin(samples, prepared) {
  if (location.hash.length > 1) {
    try {
      const { text, release, compare } = await unpack(location.hash.slice(1));
      if (typeof text !== "string") throw new TypeError("no text");
      at("release").value = release ?? "";
      at("compare").value = compare ?? "";
      for (const id of ["release", "compare"]) at(id).value ||= "";
      write(text);
      if (at("compare").value) select("difference");
      return;
    } catch {
      at("shared").textContent = "The link cannot be read.";
    }
  }
  answer = prepared; // what the engine will say, until it is loaded
  write(samples[0].text);
  present();
  performance.mark("first");
}

async function start() {
  const response = await fetch("samples.json");
  const { samples, lines, answer: prepared } = await response.json();
  for (const { name, title } of samples) at("sample").add(new Option(title, name));
  for (const line of lines) for (const id of ["release", "compare"]) at(id).add(new Option(line, line));
  connect(samples);
  await begin(samples, prepared);
}

start().catch((error) => {
  at("status").textContent = `The page cannot start: ${error.message}`;
});
