// SPDX-License-Identifier: Apache-2.0

const key = /^(\s*(?:- +)*)"?([\w.\/-]+)"?:(?=\s|$)/;

// parents returns the path of the object that a line with this indent belongs to. YAML that is being written has no tree yet, so the
// indents decide, as they do for its reader.
function parents(doc, number, indent) {
  const path = [];
  for (let i = number - 1; i >= 1 && indent > 0; i--) {
    const text = doc.line(i).text;
    if (text.startsWith("---")) break;
    const found = key.exec(text);
    if (found && found[1].length < indent) {
      path.unshift(found[2]);
      indent = found[1].length;
    }
  }
  return path;
}

// placeAt describes where a position is: in the name of a field, or in its value; null where it is in neither. Path is that of the object or
// of the field.
export function placeAt(doc, position) {
  const line = doc.lineAt(position);
  const before = line.text.slice(0, position - line.from);
  const name = /^(\s*(?:- +)*)([\w.\/-]*)$/.exec(before);
  if (name) {
    return { kind: "name", path: parents(doc, line.number, name[1].length), from: line.from + name[1].length, indent: name[1].length };
  }
  const value = /^(\s*(?:- +)*)([\w.\/-]+):\s+["']?([^"'\s]*)$/.exec(before);
  if (value) {
    return { kind: "value", path: [...parents(doc, line.number, value[1].length), value[2]], from: position - value[3].length };
  }
  return null;
}

// fieldAt returns the path of the field whose name is at the position, and where the name is; null where there is none.
export function fieldAt(doc, position) {
  const line = doc.lineAt(position);
  const found = key.exec(line.text);
  if (!found) return null;
  const from = line.from + found[1].length;
  const to = from + found[2].length;
  if (position < from || position > to) return null;
  return { path: [...parents(doc, line.number, found[1].length), found[2]], from, to };
}
