// SPDX-License-Identifier: Apache-2.0

function element(name, text, kind) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

const marks = { create: ["+", "good"], delete: ["−", "error"], change: ["~", ""], keep: ["~", ""] };

function changes(list) {
  const rows = element("ul");
  for (const { path, before, after } of list ?? []) {
    if (!before) rows.append(element("li", `+ ${path}: ${after}`, "good"));
    else if (!after) rows.append(element("li", `− ${path}: ${before}`, "error"));
    else rows.append(element("li", `~ ${path}: ${before} → ${after}`));
  }
  return rows;
}

// difference returns what tells the reader how another release differs. Answer is the engine's, and to the other release line.
export function difference({ difference: found, release }, to) {
  const parts = [];
  const title = (text) => parts.push(element("h3", text));
  if (!found) return [element("p", to ? "Fix the errors first: there is nothing to compare." : "Choose a release under “Compare with”.")];
  const worse = found.problems.filter((p) => p.severity === "error");
  if (worse.length) {
    title(`The operator rejects it with release line ${to}`);
    const rows = element("ul");
    for (const p of worse) rows.append(element("li", p.message, "error"));
    return [...parts, rows];
  }
  for (const report of found.reports) {
    title(`config.yaml: ${release || "the distribution"} → ${to}`);
    parts.push(report.config?.length ? changes(report.config) : element("p", "No difference."));
    title("Objects");
    const rows = element("ul");
    for (const object of report.objects ?? []) {
      const [mark, kind] = marks[object.action];
      const row = element("li", `${mark} ${object.kind}/${object.name}`, kind);
      row.append(changes(object.changes));
      rows.append(row);
    }
    parts.push(rows.children.length ? rows : element("p", "No difference."));
    parts.push(element("p", "Pods restart: " + (report.restart?.length ? "yes: " + report.restart.join(", ") : "no")));
    parts.push(element("p", "Storage location changes: " + (report.state?.length ? "yes: " + report.state.join("; ") : "no")));
  }
  return parts;
}
