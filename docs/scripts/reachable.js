// What the theme adds to a page gets the names and the way in by keyboard that it lacks.

const overflowing = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    target.tabIndex = target.scrollWidth > target.clientWidth ? 0 : -1;
  }
});

function mend() {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  for (const buttons of document.querySelectorAll("nav.md-code__nav:not([role])")) {
    buttons.setAttribute("role", "none");
  }
  for (const wide of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) {
    wide.tabIndex = -1;
    overflowing.observe(wide);
  }
  for (const corner of document.querySelectorAll("th:empty")) {
    corner.replaceWith(document.createElement("td"));
  }
}

new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
mend();
