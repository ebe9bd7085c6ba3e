// A chapter on the projector: no code, no menus, larger letters. The button beside the others or ?projector in the
// address switches it on, the button or ?projector=off switches it off; it stays for the other pages of the window.
(() => {
  const root = document.documentElement, key = "sinpe-projector";
  const kept = { get: () => { try { return sessionStorage.getItem(key); } catch { return null; } },
                 set: (on) => { try { sessionStorage.setItem(key, on ? "on" : "off"); } catch { /* not kept, then */ } } };
  const show = (on) => {
    root.toggleAttribute("data-projector", on);
    kept.set(on);
    document.querySelector(".projector-button")?.setAttribute("aria-pressed", String(on));
  };
  const asked = new URLSearchParams(location.search).get("projector");
  show(asked === null ? kept.get() === "on" : asked !== "off");
  addEventListener("DOMContentLoaded", () => {
    const place = document.querySelector(".article-header-buttons");
    if (!place || !document.querySelector(".bd-article div.cell")) return;
    const button = document.createElement("button");
    button.className = "btn btn-sm projector-button";
    button.type = "button";
    button.title = "Projector view: without code and menus";
    button.setAttribute("aria-label", button.title);
    button.setAttribute("aria-pressed", String(root.hasAttribute("data-projector")));
    button.innerHTML = '<svg viewBox="0 0 24 24" width="18" height="18" fill="none" stroke="currentColor" stroke-width="2" aria-hidden="true"><path d="M2 4h20M4 4v11h16V4M12 15v3M8 21l4-3 4 3"/></svg>';
    button.addEventListener("click", () => show(!root.hasAttribute("data-projector")));
    place.prepend(button);
  });
})();
