// What no style sheet can say. Everything else of a page works without it.
(() => {
  const page = document.documentElement;

  // Paper is light, whatever the screen is.
  let screen = null;
  function paper(on) {
    if (on && screen === null) {
      screen = page.dataset.theme;
      page.dataset.theme = "light";
    } else if (!on && screen !== null) {
      page.dataset.theme = screen;
      screen = null;
    }
  }
  addEventListener("beforeprint", () => paper(true));
  addEventListener("afterprint", () => paper(false));
  const print = matchMedia("print");
  print.addEventListener("change", () => paper(print.matches));
  paper(print.matches);

  // Browsers start no Python in a page from a disk.
  if (location.protocol === "file:") {
    for (const button of document.querySelectorAll('a[href^="../lite/"]')) button.closest("li").remove();
  }

  // Who has no mouse can scroll a formula or a figure that is wider than its place; all others are no stops on the way through the page.
  function reach() {
    for (const formula of document.querySelectorAll("article .math")) {
      const wide = formula.scrollWidth > formula.clientWidth + 1 && formula.clientWidth > 0;
      if (wide) formula.tabIndex = 0;
      else formula.removeAttribute("tabindex");
      if (wide) formula.setAttribute("role", "group");
      else formula.removeAttribute("role");
      if (wide) formula.setAttribute("aria-label", "Formula, wider than the page");
      else formula.removeAttribute("aria-label");
    }
    for (const figure of document.querySelectorAll("article .cell_output figure")) {
      if (figure.scrollWidth > figure.clientWidth + 1 && figure.clientWidth > 0) figure.tabIndex = 0;
      else figure.removeAttribute("tabindex");
    }
  }
  let waiting;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(reach, 100);
  });
  addEventListener("load", reach);
  document.fonts?.ready.then(reach);
})();
