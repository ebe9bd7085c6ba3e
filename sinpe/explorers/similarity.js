// <sinpe-similarity>: the dot product of two codes, divided by d_model / 2, over their offset; any position gives the same curve.
define(class extends Explorer {
  static tag = "sinpe-similarity";
  static style = `
    .plot { display: grid; grid-template-columns: 2.6rem minmax(0, 1fr); }
    .plot svg { width: 100%; height: 14rem; display: block; overflow: visible; cursor: crosshair; touch-action: pan-y; }
    .levels, .ends { font-size: .8rem; position: relative; }
    .levels span { position: absolute; right: .5em; transform: translateY(-50%); }
    .ends { grid-column: 2; display: flex; justify-content: space-between; }
  `;

  check() {
    const { offset, reach } = this.state;
    if (Math.abs(offset) > reach) throw new RangeError(`offset must be at most reach in size, which is ${reach}, got ${offset}`);
  }

  template() {
    const { dModel, base, reach, offset, position } = this.state;
    const levels = [1, 0.5, 0, -0.5, -1];
    return `
      <div class="controls">
        ${choice("dModel", "d_model", options([4, 16, 64, 128, 256, 512, 1024], dModel, String))}
        ${choice("base", "base", options(BASES, base))}
        ${choice("reach", "offsets up to", options([20, 100, 1000, 20000], reach))}
        ${slider("offset", "Offset", -reach, reach, offset)}
        ${slider("position", "Position", 0, Math.max(1000, position), position)}
      </div>
      <div class="plot">
        <div class="levels" aria-hidden="true">${levels.map((y) => `<span style="top:${50 - 50 * y}%">${number(y, 1)}</span>`).join("")}</div>
        <svg viewBox="0 -1 1 2" preserveAspectRatio="none" role="img" fill="none" stroke="currentColor">
          ${levels.map((y) => `<path d="M0 ${-y}H1" stroke-width="${y ? 0.3 : 1}" vector-effect="non-scaling-stroke"/>`).join("")}
          <path class="curve" stroke="#2b7bba" stroke-width="1.8" stroke-linejoin="round" vector-effect="non-scaling-stroke"/>
          <path class="cursor" stroke="#d1601f" stroke-width="2" stroke-dasharray="5 3" vector-effect="non-scaling-stroke"/>
          <path class="dot" stroke="#d1601f" stroke-width="11" stroke-linecap="round" vector-effect="non-scaling-stroke"/>
        </svg>
        <div class="ends" aria-hidden="true"><span class="left"></span><span>offset 0</span><span class="right"></span></div>
      </div>
      <p class="read"></p>`;
  }

  build() {
    for (const name of ["dModel", "base", "offset", "position"]) this.bind(name);
    this.bind("reach", () => (this.state.offset = Math.max(-this.state.reach, Math.min(this.state.offset, this.state.reach))));
    const plot = this.find("svg"), choose = (event) => {
      this.state.offset = cellUnder(event, plot, 2 * this.state.reach + 1, 1)[0] - this.state.reach;
      this.draw();
    };
    plot.addEventListener("pointerdown", choose);
    plot.addEventListener("pointermove", (event) => event.buttons && choose(event));
    this.drawn = null;
  }

  // κ(offset) = (2 / d_model) Σ cos(ω_i · offset), for offsets 0 … reach
  kernel() {
    const { dModel, base, reach } = this.state, frequencies = inverseFrequencies(dModel, base), kappa = new Float64Array(reach + 1);
    for (const w of frequencies) for (let offset = 0; offset <= reach; offset++) kappa[offset] += Math.cos(w * offset) / frequencies.length;
    return kappa;
  }

  // The same number twice: from the two codes, and from the offset alone.
  values() {
    const { dModel, base, offset, position } = this.state;
    const here = encode(position, dModel, base), there = encode(position + offset, dModel, base);
    const product = here.reduce((sum, value, j) => sum + value * there[j], 0) / (dModel / 2);
    return { product, kappa: inverseFrequencies(dModel, base).reduce((sum, w) => sum + Math.cos(w * offset), 0) / (dModel / 2) };
  }

  draw() {
    const { dModel, base, reach, offset, position } = this.state, x = (at) => (at + reach) / (2 * reach);
    const picture = [dModel, base, reach].join();
    if (picture !== this.drawn) {
      const kappa = this.kernel(), step = Math.max(1, Math.round(reach / 300)), points = [];
      // where several offsets share a pixel, draw the lowest and the highest of them, so that nothing is lost
      for (let at = -reach; at <= reach; at += step) {
        const group = Array.from({ length: Math.min(step, reach - at + 1) }, (_, i) => kappa[Math.abs(at + i)]);
        for (const y of new Set([Math.min(...group), Math.max(...group)])) points.push(`${x(at).toFixed(5)} ${(-y).toFixed(4)}`);
      }
      this.find(".curve").setAttribute("d", `M${points.join("L")}`);
      this.find("svg").setAttribute("aria-label", `Similarity of two codes over their offset from ${-reach} to ${reach}: 1 at offset 0, the same on both sides, lowest ${number(Math.min(...kappa))}.`);
      this.find(".left").textContent = `−${whole(reach)}`;
      this.find(".right").textContent = whole(reach);
      this.drawn = picture;
    }
    Object.assign(this.find(`[name="offset"]`), { min: -reach, max: reach, value: offset });
    this.find(`output.offset`).textContent = number(offset, 0);
    this.find(`[name="position"]`).value = position;
    this.find(`output.position`).textContent = position;
    const { product, kappa } = this.values();
    this.find(".cursor").setAttribute("d", `M${x(offset)} -1V1`);
    this.find(".dot").setAttribute("d", `M${x(offset)} ${-kappa}h0`);
    this.find(".read").textContent = `From the codes: (2 / ${dModel}) · PE(${position}) · PE(${number(position + offset, 0)}) = ${number(product, 6)}. ` +
      `From the offset alone: κ(${number(offset, 0)}) = ${number(kappa, 6)}.`;
  }
});
