// <sinpe-similarity>: the dot product of two codes, divided by d_model / 2, over their offset; any position gives the same curve.
define(class extends Explorer {
  static tag = "sinpe-similarity";
  static style = PLOT + ".plot > svg { height: 14rem; cursor: crosshair; }";

  check() {
    const { offset, reach } = this.state;
    if (Math.abs(offset) > reach) throw new RangeError(`offset must be at most reach in size, which is ${reach}, got ${offset}`);
  }

  template() {
    const { dModel, base, reach, offset, position } = this.state;
    return `
      <div class="controls">
        ${choice("dModel", "d_model", options([4, 16, 64, 128, 256, 512, 1024], dModel, String))}
        ${choice("base", "base", options(BASES, base))}
        ${choice("reach", "offsets up to", options([20, 100, 1000, 20000], reach))}
        ${slider("offset", "Offset", -reach, reach, offset)}
        ${slider("position", "Position", 0, Math.max(1000, position), position)}
      </div>
      ${plot("similarity κ of the two codes", "offset of the two positions", curve("curve", 0) + CURSOR)}`;
  }

  build() {
    for (const name of ["dModel", "base", "offset", "position"]) this.bind(name);
    this.bind("reach", () => (this.state.offset = Math.max(-this.state.reach, Math.min(this.state.offset, this.state.reach))));
    const svg = this.find(".plot svg"), choose = (event) => {
      this.state.offset = cellUnder(event, svg, 2 * this.state.reach + 1, 1)[0] - this.state.reach;
      this.draw();
    };
    drag(svg, choose);
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
    const { dModel, base, reach, offset, position } = this.state, x = (at) => (at + reach) / (2 * reach), y = (kappa) => (kappa + 1) / 2;
    const picture = [dModel, base, reach].join();
    if (picture !== this.drawn) {
      const kappa = this.kernel(), step = Math.max(1, Math.round(reach / 300)), points = [];
      // where several offsets share a pixel, draw the lowest and the highest of them, so that nothing is lost
      for (let at = -reach; at <= reach; at += step) {
        const group = Array.from({ length: Math.min(step, reach - at + 1) }, (_, i) => kappa[Math.abs(at + i)]);
        for (const value of new Set([Math.min(...group), Math.max(...group)])) points.push([x(at), y(value)]);
      }
      this.find(".curve").setAttribute("d", line(points));
      this.find(".plot svg").setAttribute("aria-label", `Similarity of two codes over their offset from ${-reach} to ${reach}: 1 at offset 0, the same on both sides, lowest ${number(Math.min(...kappa))}.`);
      const quarters = [-1, -0.5, 0, 0.5, 1];
      ticks(this.find(".plot"), quarters.map((part) => [(part + 1) / 2, whole(part * reach).replace("-", "−")]), quarters.map((level) => [y(level), number(level, 1)]));
      this.drawn = picture;
    }
    this.show("offset", undefined, { min: -reach, max: reach });
    this.show("position");
    const { product, kappa } = this.values();
    this.find(".cursor").setAttribute("d", `M${x(offset)} 0V1`);
    this.find(".dot").setAttribute("d", `M${x(offset)} ${1 - y(kappa)}h0`);
    this.say(`From the codes: (2 / ${dModel}) · PE(${position}) · PE(${number(position + offset, 0)}) = ${number(product, 6)}. ` +
      `From the offset alone: κ(${number(offset, 0)}) = ${number(kappa, 6)}.`);
  }
});
