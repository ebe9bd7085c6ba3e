// <sinpe-candidate>: a position code of one's own, and what the seven requirements of sinpe/requirements.py measure in it.
{
// A number from −1 to 1 that looks random, for a whole number.
const mixed = (n) => {
  let bits = Math.imul(n + 1, 0x9e3779b1);
  bits = Math.imul(bits ^ (bits >>> 15), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 31 - 1;
};

// 4000 whole positions scattered up to two million, half of them for the fit.
const scattered = () => {
  let seed = 1;
  return Array.from({ length: 4000 }, () => Math.floor(((seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32) * 2e6));
};

const largest = (columns) => columns.reduce((most, column) => column.reduce((m, value) => Math.max(m, Math.abs(value)), most), 0);
const finite = (columns) => Number.isFinite(largest(columns));
const change = (codes, others) => (finite(codes) && finite(others) ? largest(codes.map((column, c) => column.map((value, i) => value - others[c][i]))) : Infinity);
const closest = (codes) => {
  if (!finite(codes)) return 0;
  const width = codes.length, rows = Float64Array.from({ length: width * codes[0].length }, (_, k) => codes[k % width][Math.floor(k / width)]);
  let least = Infinity;
  for (let i = 0; i < rows.length; i += width) {
    for (let j = 0; j < i; j += width) {
      let sum = 0;
      for (let c = 0; c < width; c++) sum += (rows[i + c] - rows[j + c]) ** 2;
      least = Math.min(least, sum);
    }
  }
  return least ** 0.5;
};

// The largest error where matrices fitted on (here → moved) are tried on (there → wanted). Turning the columns of `here` until all are at
// right angles (one-sided Jacobi), and those of `there` along, leaves one division a column; what is as good as zero is left out.
const misfit = (here, moved, there, wanted) => {
  const dot = (a, b) => {
    let sum = 0;
    for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
    return sum;
  };
  for (let sweep = 0, off = 1; off > 1e-15 && sweep < 30; sweep++) {
    off = 0;
    here.forEach((right, j) => here.slice(0, j).forEach((left, i) => {
      const [a, b, product] = [dot(left, left), dot(right, right), dot(left, right)], cosine = Math.abs(product) / Math.sqrt(a * b);
      if (!(cosine > 1e-15)) return;
      off = Math.max(off, cosine);
      const zeta = (b - a) / (2 * product), t = (zeta < 0 ? -1 : 1) / (Math.abs(zeta) + Math.hypot(1, zeta)), c = 1 / Math.hypot(1, t);
      for (const [x, y] of [[left, right], [there[i], there[j]]]) {
        for (let k = 0; k < x.length; k++) [x[k], y[k]] = [c * (x[k] - t * y[k]), c * (t * x[k] + y[k])];
      }
    }));
  }
  const squares = here.map((column) => dot(column, column)), cut = (2 ** -52 * here[0].length) ** 2 * Math.max(...squares);
  return change(wanted, moved.map((column) => {
    const parts = here.map((each, j) => (squares[j] > cut ? dot(each, column) / squares[j] : 0));
    return column.map((_, i) => parts.reduce((sum, part, j) => sum + part * there[j][i], 0));
  }));
};

define(class extends Explorer {
  static tag = "sinpe-candidate";
  static style = MAP + `
    .two { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 16rem), 1fr)); gap: .6rem 1.5rem; }
    .map { cursor: auto; }
    .map canvas { height: 14rem; }
    .ends { display: flex; justify-content: space-between; font-size: .8rem; }
    table { width: 100%; border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
    th, td { text-align: left; font-weight: normal; padding: .15rem .4rem; }
    td:last-child { border-left: 4px solid #1a9070; }
    .no td:last-child { font-weight: 700; border-color: #d1601f; }
  `;
  // What is asked of each measured number: at most or at least.
  static limits = { fixed: ["≤", 0], bounded: ["≤", 1], unique: ["≥", 0.01], smooth: ["≤", 0.1], length: ["≤", 0], anywhere: ["≥", 1e-9], linear: ["≤", 1e-8] };

  template() {
    const { hands, fastest, ratio, size } = this.state;
    const pick = (name) => `<label>${name} <select name="${name}">${ATTRIBUTES[this.localName][name].choices.map((text) => `<option>${text}</option>`).join("")}</select></label>`;
    const row = (name) => `<tr class="${name}"><th scope="row">${name}</th><td></td><td></td><td></td></tr>`;
    return `
      <div class="controls">${pick("candidate")}</div>
      <div class="controls">
        ${slider("hands", "Hands", 1, 8, hands)}
        ${slider("fastest", "The first turns by", 0.01, 10, fastest, 0.01)}
        ${slider("ratio", "Each slower by", 1, 10, ratio, 0.1)}
        ${slider("size", "Size", 0.05, 2, size, 0.05)}
        ${pick("wave")}${pick("partner")}
      </div>
      <div class="two">
        <div><div class="map"><canvas role="img"></canvas></div><div class="ends" aria-hidden="true"><span>one row a position, 0 to 63</span><span class="width"></span></div></div>
        <table><thead><tr>${["requirement", "measured", "asked", "kept"].map((name) => `<th scope="col">${name}</th>`).join("")}</tr></thead><tbody>${Object.keys(this.constructor.limits).map(row).join("")}</tbody></table>
      </div>`;
  }

  build() {
    this.bind("candidate");
    // who moves a hand wants hands
    for (const name of ["hands", "fastest", "ratio", "size", "wave", "partner"]) this.bind(name, () => (this.state.candidate = "hands of your own"));
  }

  // The code of positions from 0 on in a text of so many: one array of numbers a column. The formula and random codes are 16 wide, as in chapter 02.
  code(positions, length) {
    const { candidate, hands, fastest, ratio, partner, wave, size } = this.state;
    const columns = (count, entry) => Array.from({ length: count }, (_, c) => Float64Array.from(positions, (p) => entry(p, c)));
    const turned = (first, by, count, shapes) => columns(count * shapes.length, (p, c) => shapes[c % shapes.length]((p * first) / by ** Math.floor(c / shapes.length)));
    const round = { sine: Math.sin, triangle: (a) => (2 / Math.PI) * Math.asin(Math.sin(a)), square: (a) => (Math.sin(a) < 0 ? -1 : 1) }[wave];
    const later = { none: [], "quarter turn on": [Math.PI / 2], "one radian on": [1] }[partner];
    return {
      "raw index": () => columns(1, (p) => p),
      fraction: () => columns(1, (p) => p / length),
      "binary digits": () => columns(10, (p, c) => Math.floor(p / 2 ** c) % 2),
      "one sine": () => turned(1, 1, 1, [Math.sin]),
      "one pair": () => turned(1, 1, 1, [Math.sin, Math.cos]),
      "many pairs": () => turned(1, 10000 ** (1 / 8), 8, [Math.sin, Math.cos]),
      "table of 1000 rows": () => columns(16, (p, c) => (p < 1000 ? mixed(16 * Math.floor(p) + c) : NaN)),
      "fresh noise": () => columns(16, () => mixed(this.drawn++)),
      "hands of your own": () => turned(fastest, ratio, hands, [0, ...later].map((by) => (a) => size * round(a + by))),
    }[candidate]();
  }

  // {requirement: what is measured}: the measurements of sinpe/requirements.py.
  values() {
    const ask = (positions, length = 2 ** 21) => this.code(positions, length), range = (count, step = 1, from = 0) => Array.from({ length: count }, (_, i) => from + i * step);
    const first = range(1000), far = range(100, 1, 2 ** 20), all = scattered(), [fit, test] = [all.slice(0, 2000), all.slice(2000)];
    this.drawn = 0; // fresh noise begins anew with each look
    const there = (positions) => [1, 7, 0.5].flatMap((k) => ask(positions.map((p) => p + k)));
    const four = [ask(fit), there(fit), ask(test), there(test)], fine = ask(range(6400, 0.01), 64);
    return {
      fixed: change(ask(first), ask(first)),
      bounded: largest(ask(far)),
      unique: closest(ask(first, 1000)),
      smooth: change(fine.map((column) => column.slice(1)), fine.map((column) => column.slice(0, -1))),
      length: change(ask(first, 1000), ask(first, 9000)),
      anywhere: closest(ask([...first.slice(0, 100), ...far])),
      linear: four.every(finite) ? misfit(...four) : Infinity,
    };
  }

  draw() {
    const { candidate, hands, fastest, ratio, partner, wave, size } = this.state, { limits } = this.constructor, measured = this.values(), rows = Array.from({ length: 64 }, (_, p) => p);
    const short = (value) => (!Number.isFinite(value) ? "none" : value && (value < 0.001 || value >= 1000) ? value.toExponential(0) : String(Number(value.toPrecision(1))));
    const asked = ([side, limit]) => (side === "≤" && !limit ? "0" : `${side} ${short(limit)}`), keeps = (name) => (limits[name][0] === "≤" ? measured[name] <= limits[name][1] : measured[name] >= limits[name][1]);
    const code = this.code(rows, 64), lost = Object.keys(limits).filter((name) => !keeps(name));
    paint(this.find("canvas"), rows.map((p) => code.map((column) => Math.min(Math.max(column[p] || 0, -1), 1))));
    this.find("canvas").setAttribute("aria-label", `Codes of positions 0 (top) to 63, ${code.length} numbers each: blue is −1 or less, white zero, red 1 or more`);
    this.find(".width").textContent = code.length === 1 ? "1 number" : `${code.length} numbers`;
    for (const name of Object.keys(limits)) {
      const line = this.find(`tbody .${name}`);
      line.className = `${name} ${keeps(name) ? "yes" : "no"}`;
      [short(measured[name]), asked(limits[name]), keeps(name) ? "yes" : "no"].forEach((text, i) => (line.cells[i + 1].textContent = text));
    }
    for (const name of ["candidate", "wave", "partner"]) this.find(`[name="${name}"]`).value = this.state[name];
    this.show("hands");
    for (const [name, digits] of [["fastest", 2], ["ratio", 1], ["size", 2]]) this.show(name, number(this.state[name], digits));
    const own = `${hands} ${wave} ${hands > 1 ? "waves" : "wave"}, the first turning by ${number(fastest, 2)}, each ${number(ratio, 1)} times slower than the last, size ${number(size, 2)}, partner: ${partner}`;
    const told = lost.map((name) => `${name} (measured ${short(measured[name])}, asked ${asked(limits[name])})`).join(", ");
    this.say(`${candidate === "hands of your own" ? own : candidate[0].toUpperCase() + candidate.slice(1)}: keeps ${lost.length ? `${7 - lost.length} of 7. Not kept: ${told}.` : "all 7."}`);
  }
});
}
