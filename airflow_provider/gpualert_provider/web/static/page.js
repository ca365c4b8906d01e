// Airflow shows these pages in a sandboxed frame: a link to its own pages is followed by the window
// around the frame, and the list of tries is read again while a try is live.
"use strict";

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-top]");
  if (!link || window.parent === window || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  const copy = window.parent.document.createElement("a");
  copy.href = link.href;
  window.parent.document.body.append(copy);
  copy.click();
  copy.remove();
});

const tries = document.getElementById("tries");
const fetchTries = async () => {
  const answer = await fetch(location.href, { cache: "no-store" });
  if (!answer.ok) return null;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return page.getElementById("tries");
};
const readAgain = async () => {
  let found = null;
  try {
    found = await fetchTries();
  } catch {
    // The server may be restarting: the next attempt follows.
  }
  if (found && found.textContent !== tries.textContent) tries.replaceChildren(...found.childNodes);
  if (!found || found.hasAttribute("data-live")) setTimeout(readAgain, 10000);
};
if (tries && tries.hasAttribute("data-live")) setTimeout(readAgain, 10000);
