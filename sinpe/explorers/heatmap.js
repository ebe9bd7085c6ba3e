// <sinpe-heatmap>: the table of codes as colours; a chosen cell is read out with its frequency and wavelength.
define(class extends Explorer {
  static tag = "sinpe-heatmap";
  static style = PLOT + MAP + `
    .map canvas { height: 18rem; }
    .row { left: 0; right: 0; }
    .column { top: 0; bottom: 0; }
    .mark { border-width: 1px; }
    .scale { display: flex; align-items: center; gap: .5rem; font-size: .8rem; }
    .scale canvas { width: 8rem; height: .8rem; }
  `;

  check() {
    const { position, positions, dimension, dModel } = this.state;
    if (position >= positions) throw new RangeError(`position must be less than positions, which is ${positions}, got ${position}`);
    if (dimension >= dModel) throw new RangeError(`dimension must be less than d-model, which is ${dModel}, got ${dimension}`);
  }

  template() {
    const { dModel, base, positions, position, dimension, layout } = this.state;
    return `
      <div class="controls">
        ${slider("dModel", "d_model", 2, Math.max(128, dModel), dModel, 2)}
        ${choice("base", "base", options(BASES, base))}
        ${choice("layout", "layout", ["interleaved", "concatenated"].map((v) => `<option${v === layout ? " selected" : ""}>${v}</option>`).join(""))}
        ${slider("position", "Position", 0, positions - 1, position)}
        ${slider("dimension", "Dimension", 0, dModel - 1, dimension)}
      </div>
      <div class="plot"><span class="name">position</span><div class="levels" aria-hidden="true"></div>
        <div class="map"><canvas role="img"></canvas><span class="mark row"></span><span class="mark column"></span></div>
        <div class="ends" aria-hidden="true"></div><span class="name under">dimension</span></div>
      <div class="scale">value −1 <canvas role="img" aria-label="Colour scale: blue is minus one, white zero, red one"></canvas> +1</div>`;
  }

  build() {
    for (const name of ["base", "layout", "position", "dimension"]) this.bind(name);
    this.bind("dModel", () => (this.state.dimension = Math.min(this.state.dimension, this.state.dModel - 1)));
    paint(this.find(".scale canvas"), [Array.from({ length: 65 }, (_, i) => i / 32 - 1)]);
    const map = this.find(".map"), choose = (event) => {
      [this.state.dimension, this.state.position] = cellUnder(event, map, this.state.dModel, this.state.positions);
      this.draw();
    };
    drag(map, choose);
    this.painted = null;
  }

  // Everything the read-out says about the chosen cell.
  values() {
    const { dModel, base, position, dimension, layout } = this.state;
    const pair = layout === "interleaved" ? Math.floor(dimension / 2) : dimension % (dModel / 2);
    const sine = layout === "interleaved" ? dimension % 2 === 0 : dimension < dModel / 2;
    const frequency = inverseFrequencies(dModel, base)[pair];
    return { pair, sine, frequency, wavelength: (2 * Math.PI) / frequency, value: encode(position, dModel, base, layout)[dimension] };
  }

  draw() {
    const { dModel, base, positions, position, dimension, layout } = this.state;
    const picture = [dModel, base, layout].join();
    if (picture !== this.painted) {
      const canvas = this.find(".map canvas");
      paint(canvas, Array.from({ length: positions }, (_, p) => encode(p, dModel, base, layout)));
      canvas.setAttribute("aria-label", `Codes of positions 0 to ${positions - 1} in ${dModel} dimensions, base ${base}, ${layout}.`);
      const marks = (cells) => [...new Set([0, 1, 2, 3, 4].map((quarter) => Math.round((quarter * (cells - 1)) / 4)))].map((cell) => [(cell + 0.5) / cells, cell]);
      ticks(this.find(".plot"), marks(dModel), marks(positions).map(([at, row]) => [1 - at, row]));
      this.painted = picture;
    }
    for (const name of ["dModel", "position"]) this.show(name);
    this.show("dimension", undefined, { max: dModel - 1 });
    Object.assign(this.find(".row").style, { top: `calc(${(100 * position) / positions}% - 1px)`, height: `calc(${100 / positions}% + 2px)` });
    Object.assign(this.find(".column").style, { left: `calc(${(100 * dimension) / dModel}% - 1px)`, width: `calc(${100 / dModel}% + 2px)` });
    const { pair, sine, frequency, wavelength, value } = this.values();
    this.say(`Position ${position}, dimension ${dimension}: the ${sine ? "sine" : "cosine"} of pair ${pair}. ` +
      `Value ${sine ? "sin" : "cos"}(${position} × ${frequency.toPrecision(4)}) = ${number(value, 4)}. Wavelength ${count(wavelength)} positions.`);
  }
});
