/* Names and focus that a keyboard and a screen reader need, and the theme does not set. */
(function () {
  "use strict";
  const search = document.querySelector(".md-search[role=dialog]");
  if (search) search.setAttribute("aria-label", "Search");

  const wide = ".md-typeset pre > code, .md-typeset__scrollwrap";
  const offerFocus = () => {
    for (const one of document.querySelectorAll(wide)) {
      const isWide = one.scrollWidth > one.clientWidth;
      if (isWide && one.tabIndex !== 0) one.tabIndex = 0;
    }
  };
  // The theme wraps tables when the page has loaded, and takes the focus from code out of sight.
  new MutationObserver(offerFocus).observe(document.body, {
    attributeFilter: ["tabindex"],
    childList: true,
    subtree: true,
  });
  new ResizeObserver(offerFocus).observe(document.body);
  offerFocus();
})();
