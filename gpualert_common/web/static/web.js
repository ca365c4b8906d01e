// Refreshes the parts of a page that change, and helps to choose two runs.
// Pages work without this script: they then reload themselves, and forms are sent as they are.
"use strict";

const PERIOD_MS = 1000 * Number(document.body.dataset.refresh ?? 0);
const MOST_PERIOD_MS = 30000;

const served = new Map(); // by id, the content of each part as the server sent it last
let period = PERIOD_MS;
let timer = 0;

function liveParts(root) {
  return root.querySelectorAll("[data-live][id]");
}

function remember(root) {
  for (const part of liveParts(root)) served.set(part.id, part.innerHTML);
}

function describeFocus(part) {
  const focused = document.activeElement;
  if (!focused || !part.contains(focused)) return null;
  if (focused.id) return `#${CSS.escape(focused.id)}`;
  const href = focused.getAttribute("href");
  return href ? `a[href="${CSS.escape(href)}"]` : null;
}

function replacePart(part, fresh) {
  const chosen = [...part.querySelectorAll("input:checked")].map((one) => one.id);
  const opened = [...part.querySelectorAll("details[open]")].map((one) => one.id);
  const focus = describeFocus(part);
  const nodes = [...fresh.childNodes].map((node) => document.importNode(node, true));
  part.replaceChildren(...nodes);
  part.hidden = fresh.hidden;
  for (const id of chosen) {
    const box = document.getElementById(id);
    if (box) box.checked = true;
  }
  for (const id of opened) {
    const details = document.getElementById(id);
    if (details) details.open = true;
  }
  if (focus) part.querySelector(focus)?.focus({ preventScroll: true });
}

function say(text) {
  const state = document.getElementById("link-state");
  if (state.textContent !== text) state.textContent = text;
}

async function refresh() {
  const response = await fetch(location.pathname + location.search, { cache: "no-store" });
  if (!response.ok) throw new Error(`status ${response.status}`);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const fresh of liveParts(page)) {
    const part = document.getElementById(fresh.id);
    if (part && served.get(fresh.id) !== fresh.innerHTML) replacePart(part, fresh);
  }
  remember(page);
  if (document.title !== page.title) document.title = page.title;
  countChosen();
  return page.body.hasAttribute("data-refresh");
}

async function tick() {
  timer = 0;
  if (document.hidden) return;
  let goesOn = true;
  try {
    goesOn = await refresh();
    period = PERIOD_MS;
    say("");
  } catch {
    period = Math.min(2 * period, MOST_PERIOD_MS);
    say("No connection to the server. What you see is not up to date.");
  }
  if (goesOn) schedule(period);
}

function schedule(wait) {
  if (!timer) timer = setTimeout(tick, wait);
}

function countChosen() {
  const button = document.getElementById("compare");
  if (!button) return;
  const count = document.querySelectorAll("#rows input:checked").length;
  button.disabled = count !== 2;
  button.textContent = count === 1 ? "Compare two runs: choose one more" : "Compare two runs";
}

remember(document);
countChosen();
document.getElementById("rows")?.addEventListener("change", countChosen);
if (PERIOD_MS > 0) {
  schedule(PERIOD_MS);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) schedule(0);
  });
}
