// Shared by the explorers that draw curves.

// A plot: an SVG from (0, 0) at the lower left to (1, 1), which stretches, and around it texts, which do not.
const plot = (y, x, inner, name = "") => `
  <div class="plot ${name}"><span class="name">${y}</span><div class="levels" aria-hidden="true"></div>
    <svg viewBox="0 0 1 1" preserveAspectRatio="none" role="img" fill="none" stroke="currentColor"><path class="grid" stroke-width=".3"/>${inner}</svg>
    <div class="ends" aria-hidden="true"></div><span class="name under">${x}</span></div>`;
// The colour and the dashes of a curve: by its place, or, of a position method, by its name (sinpe/looks.py).
const look = (i) => (typeof i === "string" ? LOOKS[i] : [hue(i), DASHES[i % DASHES.length]]);
const curve = (name, i, width = 1.8) => `<path class="${name}" style="stroke:${look(i)[0]}" stroke-width="${width}" stroke-linejoin="round" stroke-dasharray="${look(i)[1]}"/>`;
const CURSOR = '<path class="cursor" stroke-width="1" stroke-dasharray="3 3"/><path class="dot" stroke="#d1601f" stroke-width="10" stroke-linecap="round"/>';
const line = (points) => (points.length ? `M${points.map(([x, y]) => `${x.toFixed(5)} ${(1 - y).toFixed(5)}`).join("L")}` : "");
// Ticks are pairs of a place from 0 to 1 and a text.
const ticks = (box, xs, ys) => {
  const span = (side) => ([at, text]) => `<span style="${side}:${100 * at}%"${at > 0.97 ? ' class="last"' : at < 0.03 ? ' class="first"' : ""}>${text}</span>`;
  box.querySelector(".levels").innerHTML = ys.map(span("bottom")).join("");
  box.querySelector(".ends").innerHTML = xs.map(span("left")).join("");
  box.querySelector(".grid")?.setAttribute("d", ys.map(([at]) => `M0 ${1 - at}H1`).join("") + xs.map(([at]) => `M${at} 0V1`).join(""));
};
const sample = (i) => `<svg class="sample" viewBox="0 0 28 8" aria-hidden="true"><path d="M0 4H28" style="stroke:${look(i)[0]}" stroke-width="2.5" stroke-dasharray="${look(i)[1]}"/></svg>`;
const legend = (names, looks = names.map((_, i) => i)) => `<div class="legend">${names.map((name, i) => `<span>${sample(looks[i])} ${name}</span>`).join("")}</div>`;

const PLOT = `
  .plot { display: grid; grid-template-columns: 2.9rem minmax(0, 1fr); margin-top: .2rem; }
  .plot > svg { width: 100%; height: 13rem; display: block; overflow: visible; touch-action: pan-y; }
  .plot path { vector-effect: non-scaling-stroke; }
  .plot .name { grid-column: 1 / -1; font-size: .8rem; margin-bottom: .5rem; }
  .plot .under { text-align: center; margin: 0; }
  .levels, .ends { font-size: .78rem; line-height: 1; position: relative; font-variant-numeric: tabular-nums; white-space: nowrap; }
  .levels span { position: absolute; right: .5em; transform: translateY(50%); }
  .ends { grid-column: 2; height: 1.3em; margin-top: .35em; }
  .ends span { position: absolute; transform: translateX(-50%); }
  .ends .first { transform: none; }
  .ends .last { transform: translateX(-100%); }
  .legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; font-size: .85rem; margin: .3rem 0; }
  .legend span { display: inline-flex; gap: .4rem; align-items: center; }
  .sample { width: 28px; height: 8px; flex: none; }
`;
