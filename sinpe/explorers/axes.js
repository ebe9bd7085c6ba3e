// <sinpe-axes>: the score of two places in a plane over their offset, for a head whose pairs turn along two perpendicular directions.
define(class extends Explorer {
  static tag = "sinpe-axes";
  static style = PLOT + MAP + `
    .plot { max-width: 26rem; }
    .map canvas { aspect-ratio: 1; }
    .mark { border-width: 2px; }
    .scale { display: flex; align-items: center; gap: .5rem; font-size: .8rem; }
    .scale canvas { width: 8rem; height: .8rem; }
  `;

  check() {
    const { dy, dx, reach } = this.state;
    for (const [name, value] of Object.entries({ dy, dx })) {
      if (Math.abs(value) > reach) throw new RangeError(`${name} must be at most reach in size, which is ${reach}, got ${value}`);
    }
  }

  template() {
    const { base, angle, share, dy, dx, reach } = this.state;
    return `
      <div class="controls">
        ${slider("angle", "Directions turned by", 0, 90, angle)}
        ${slider("share", "Weight of the first", 0, 1, share, 0.05)}
        ${slider("dy", "Rows Δy", -reach, reach, dy)}
        ${slider("dx", "Columns Δx", -reach, reach, dx)}
        ${choice("base", "base", options([10, 100, 10000], base))}
      </div>
      <div class="plot"><span class="name">Δy, rows down</span><div class="levels" aria-hidden="true"></div>
        <div class="map"><canvas role="img"></canvas><span class="mark"></span></div>
        <div class="ends" aria-hidden="true"></div><span class="name under">Δx, columns to the right</span></div>
      <div class="scale">score −1 <canvas role="img" aria-label="Colour scale: blue is minus one, white zero, red one"></canvas> +1</div>`;
  }

  build() {
    for (const name of ["angle", "share", "dy", "dx", "base"]) this.bind(name);
    const { reach } = this.state, size = 2 * reach + 1, map = this.find(".map"), marks = [-reach, 0, reach];
    paint(this.find(".scale canvas"), [Array.from({ length: 65 }, (_, i) => i / 32 - 1)]);
    ticks(this.find(".plot"), marks.map((mark) => [(mark + reach + 0.5) / size, number(mark, 0)]), marks.map((mark) => [(reach - mark + 0.5) / size, number(mark, 0)]));
    drag(map, (event) => {
      const [column, row] = cellUnder(event, map, size, size);
      Object.assign(this.state, { dx: column - reach, dy: row - reach });
      this.draw();
    });
    this.painted = null;
  }

  // share · κ(along) + (1 − share) · κ(across): each direction has the ladder of a code of this width; at angle 0 the first is the columns' (axial).
  score(dy, dx) {
    const { width, base, angle, share } = this.state, turn = (angle * Math.PI) / 180;
    const kappa = (offset) => inverseFrequencies(width, base).reduce((sum, w) => sum + Math.cos(w * offset), 0) / (width / 2);
    return share * kappa(Math.cos(turn) * dx + Math.sin(turn) * dy) + (1 - share) * kappa(Math.cos(turn) * dy - Math.sin(turn) * dx);
  }

  // The score at the chosen offset, and of the two ends of its diagonal together, and of the mirrored diagonal's.
  values() {
    const { dy, dx } = this.state;
    return { score: this.score(dy, dx), diagonal: this.score(dy, dx) + this.score(-dy, -dx), mirrored: this.score(dy, -dx) + this.score(-dy, dx) };
  }

  draw() {
    const { base, angle, share, dy, dx, reach } = this.state, size = 2 * reach + 1, picture = [base, angle, share].join();
    if (picture !== this.painted) {
      const steps = Array.from({ length: size }, (_, i) => i - reach);
      paint(this.find(".map canvas"), steps.map((y) => steps.map((x) => this.score(y, x))));
      this.painted = picture;
    }
    const { score, diagonal, mirrored } = this.values(), kind = angle % 90 ? "mixed" : "axial";
    this.show("angle", `${angle}°`);
    this.show("share", number(share, 2));
    for (const name of ["dy", "dx"]) this.show(name);
    Object.assign(this.find(".mark").style, { left: `calc(${(100 * (dx + reach)) / size}% - 2px)`, top: `calc(${(100 * (dy + reach)) / size}% - 2px)`, width: `calc(${100 / size}% + 4px)`, height: `calc(${100 / size}% + 4px)` });
    this.find(".map canvas").setAttribute("aria-label", `Score over offsets from ${-reach} to ${reach} in both directions, ${kind}, directions turned by ${angle} degrees`);
    this.say(`${kind === "axial" ? "Axial" : "Mixed"}: the score at Δy = ${number(dy, 0)}, Δx = ${number(dx, 0)} is ${number(score)}. The two ends of this diagonal score ${number(diagonal)} together, ` +
      `those of the mirrored one ${number(mirrored)}${Math.abs(diagonal - mirrored) < 5e-4 ? ": the head cannot tell the two apart." : ": the head tells the two apart."}`);
  }
});
