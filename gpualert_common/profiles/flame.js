"use strict";
// A click enlarges a frame, a click on an outer one or Escape shows more again; "/" searches.
(() => {
  const svg = document.documentElement;
  const search = document.getElementById("flame-search");
  const panels = [...svg.querySelectorAll(".flame-panel")].map((panel) =>
    [...panel.querySelectorAll(".flame-frame")].map((element) => ({
      element,
      left: parseFloat(element.getAttribute("x")),
      width: parseFloat(element.getAttribute("width")),
      top: parseFloat(element.getAttribute("y")),
      title: element.querySelector("title").textContent,
    })),
  );

  function label(frame) {
    if (frame.element.querySelector("text")) return;
    const text = document.createElementNS(svg.namespaceURI, "text");
    text.setAttribute("x", "3");
    text.setAttribute("y", "12.5");
    text.textContent = frame.title.split("\n")[0];
    frame.element.append(text);
  }

  function zoom(frames, chosen) {
    const slack = 0.002;
    for (const one of frames) {
      const isAbove =
        one.top < chosen.top &&
        one.left <= chosen.left + slack &&
        one.left + one.width >= chosen.left + chosen.width - slack;
      const isInside =
        one.top >= chosen.top &&
        one.left >= chosen.left - slack &&
        one.left + one.width <= chosen.left + chosen.width + slack;
      one.element.classList.toggle("flame-outside", !isAbove && !isInside);
      one.element.classList.toggle("flame-above", isAbove);
      const left = isAbove ? 0 : ((one.left - chosen.left) / chosen.width) * 100;
      const width = isAbove ? 100 : (one.width / chosen.width) * 100;
      one.element.setAttribute("x", `${left}%`);
      one.element.setAttribute("width", `${width}%`);
      if (width > 1.2) label(one);
    }
  }

  function reset() {
    for (const frames of panels) zoom(frames, { left: 0, width: 100, top: -1 });
  }

  function find() {
    const text = window.prompt("Frames whose name contains:", "");
    if (text === null) return;
    const wanted = text.toLowerCase();
    let count = 0;
    for (const one of panels.flat()) {
      const isFound = wanted !== "" && one.title.toLowerCase().split("\n")[0].includes(wanted);
      one.element.classList.toggle("flame-found", isFound);
      count += isFound ? 1 : 0;
    }
    search.textContent = wanted === "" ? "Search" : `Search (${count} frames contain "${text}")`;
  }

  for (const frames of panels)
    for (const one of frames) one.element.addEventListener("click", () => zoom(frames, one));
  search.addEventListener("click", find);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") reset();
    if (event.key === "/") {
      event.preventDefault();
      find();
    }
  });
})();
