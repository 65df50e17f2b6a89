// SPDX-License-Identifier: Apache-2.0
//
// Makes what the theme's own script adds to a page usable without a mouse and with a screen reader: it gives the copy buttons of each
// block a name of their own, and lets the keyboard scroll wide tables.
function complete() {
  document.querySelectorAll(".md-code__nav:not([aria-label])").forEach((element) => {
    element.setAttribute("aria-label", `Actions for ${element.closest("pre, .highlight")?.querySelector("[id]")?.id ?? element.parentElement.id}`);
  });
  document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])").forEach((element) => element.setAttribute("tabindex", "0"));
}

new MutationObserver(complete).observe(document.body, { childList: true, subtree: true });
complete();
