// SPDX-License-Identifier: Apache-2.0
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, startCompletion } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, foldGutter, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, hoverTooltip, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { fieldAt, placeAt } from "./place.js";

const colors = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--key)" },
  { tag: [tags.string, tags.content, tags.special(tags.string)], color: "var(--text)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: "var(--number)" },
  { tag: tags.comment, color: "var(--comment)", fontStyle: "italic" },
]);

const theme = EditorView.theme({
  "&": { height: "100%", color: "var(--ink)", backgroundColor: "var(--paper)", fontSize: "13px" },
  ".cm-scroller": { fontFamily: "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace", lineHeight: "1.5" },
  ".cm-gutters": { backgroundColor: "var(--paper)", color: "var(--quiet)", border: "0" },
  ".cm-activeLine": { backgroundColor: "var(--line)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "var(--select)" },
  "&.cm-focused": { outline: "none" }, // the page outlines the whole editor
  ".cm-tooltip": { backgroundColor: "var(--paper)", color: "var(--ink)", border: "1px solid var(--rule)", maxWidth: "460px" },
  ".cm-tooltip .about": { padding: "6px 10px", whiteSpace: "pre-line", fontFamily: "system-ui, sans-serif" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionDetail": { fontStyle: "normal", opacity: "1" },
});

// mount puts a view into a shadow tree: there, CodeMirror adds its styles without a style element, which the page's security policy forbids.
function mount(id, extensions) {
  const parent = document.getElementById(id);
  const root = parent.attachShadow({ mode: "open" });
  return new EditorView({ parent: root, root, extensions: [theme, syntaxHighlighting(colors), lineNumbers(), drawSelection(), ...extensions] });
}

// reader returns a view to read YAML in.
export function reader(id, label) {
  return mount(id, [
    yaml(), foldGutter(), EditorState.readOnly.of(true), EditorView.contentAttributes.of({ "aria-label": label, "aria-readonly": "true", tabindex: "0" }),
    keymap.of(defaultKeymap),
  ]);
}

// writer returns a view to write YAML in. Choices returns what can stand at a path; changed is called after every change.
export function writer(id, label, choices, changed) {
  return mount(id, [
    yaml(), history(), indentOnInput(), indentUnit.of("  "), closeBrackets(), foldGutter(), highlightActiveLine(), lintGutter(),
    autocompletion({ override: [(context) => complete(context, choices)], icons: false }),
    hoverTooltip((view, position) => about(view, position, choices)),
    EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
    EditorView.updateListener.of((update) => update.docChanged && changed()),
    keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap]),
  ]);
}

const describe = (field) => [field.description, ...(field.limits ?? [])].filter(Boolean).join("\n");

async function complete(context, choices) {
  const place = placeAt(context.state.doc, context.pos);
  if (!place || (place.kind === "name" && place.from === context.pos && !context.explicit)) return null;
  const found = await choices(place.path.join("."));
  if (context.aborted) return null;
  const options = place.kind === "value"
    ? found.values.map((label) => ({ label }))
    : found.fields.map((field) => ({ label: field.name, detail: field.type + (field.required ? ", required" : ""), info: describe(field) || undefined,
      apply: (view, _, from, to) => insert(view, field, place.indent, from, to) }));
  return options.length ? { from: place.from, options, validFor: /^[\w.:\/-]*$/ } : null;
}

// insert writes the name of a field and what begins its value, and offers the fields or values that can follow.
function insert(view, field, indent, from, to) {
  const below = "\n" + " ".repeat(indent);
  const rest = field.type.startsWith("list of") ? below + "- " : field.type === "object" || field.type.startsWith("map of") ? below + "  " : " ";
  const text = field.name + ":" + rest;
  view.dispatch({ changes: { from, to, insert: text }, selection: { anchor: from + text.length }, userEvent: "input.complete" });
  startCompletion(view);
}

async function about(view, position, choices) {
  const at = fieldAt(view.state.doc, position);
  const field = at && (await choices(at.path.join("."))).about;
  if (!field || !field.description) return null;
  return { pos: at.from, end: at.to, create: () => {
    const dom = document.createElement("div");
    dom.className = "about";
    dom.textContent = `${field.name}: ${field.type}\n${describe(field)}`;
    return { dom };
  } };
}

// show replaces the text of a view, but only the part that differs, so that the reader stays where they are.
export function show(view, text) {
  const old = view.state.doc.toString();
  if (old === text) return;
  let from = 0;
  while (from < old.length && from < text.length && old[from] === text[from]) from++;
  let end = 0;
  while (end < old.length - from && end < text.length - from && old[old.length - 1 - end] === text[text.length - 1 - end]) end++;
  view.dispatch({ changes: { from, to: old.length - end, insert: text.slice(from, text.length - end) } });
}
