// <sinpe-clocks>: the hands of d-model / 2 clocks, and under each the two columns of the table that it writes.
define(class extends Player {
  static tag = "sinpe-clocks";
  static style = MAP + `
    .grid { display: grid; gap: .25rem 0; align-items: center; }
    .grid svg { display: block; width: min(100%, 5rem); margin: auto; padding: 0 6%; }
    .wave { text-align: center; font-size: clamp(11px, 2vw, .8rem); white-space: nowrap; }
    .many .wave { writing-mode: vertical-rl; margin: auto; }
    @container (max-width: 34rem) { .wave { writing-mode: vertical-rl; margin: auto; } }
    .rest { grid-column: 2 / -1; }
    .strip { height: 1.6rem; }
    .map canvas { height: 14rem; }
    .moved { border-style: dashed; }
    .axis { padding-right: .5em; align-self: center; }
    .ticks { align-self: stretch; display: flex; flex-direction: column; justify-content: space-between; line-height: 1; }
    .code { font-family: ui-monospace, monospace; font-size: .8rem; white-space: pre-wrap; }
  `;

  check() {
    const { position, positions } = this.state;
    if (position >= positions) throw new RangeError(`position must be less than positions, which is ${positions}, got ${position}`);
  }

  template() {
    const { dModel, base, positions, position, shift } = this.state;
    const frequencies = inverseFrequencies(dModel, base);
    const dials = frequencies.map((_, i) => `<svg viewBox="-1.15 -1.15 2.3 2.3" aria-hidden="true"><circle r="1" fill="none" stroke="currentColor" stroke-width=".05"/>
      <g class="ghost" style="color:${hue(i)}" fill="none" stroke="currentColor"><path stroke-width=".09"/><line y2="-.85" stroke-width=".1" stroke-dasharray=".2 .12"/><circle cy="-1" r=".13" stroke-width=".07"/></g>
      <g class="hand" style="fill:${hue(i)};stroke:${hue(i)}"><line y2="-1" stroke-width=".12"/><circle cy="-1" r=".12" stroke="none"/></g></svg>`);
    return `
      <div class="controls">
        ${PLAY}
        ${slider("position", "Position", 0, positions - 1, position)}
        ${slider("shift", "Shift by", 0, Math.max(16, shift), shift)}
      </div>
      <div class="grid${frequencies.length > 8 ? " many" : ""}" style="grid-template-columns: 4.6rem repeat(${frequencies.length}, minmax(0, 1fr))">
        <span class="axis">clock hands</span>${dials.join("")}
        <span class="axis">wavelength</span>${frequencies.map((w) => `<span class="wave">${count((2 * Math.PI) / w)}</span>`).join("")}
        <span class="axis">code</span><canvas class="strip rest" role="img" aria-label="The code of this position, as colours"></canvas>
        <span class="axis ticks"><span>position 0</span><span>${positions - 1}</span></span>
        <div class="map rest"><canvas role="img" aria-label="All codes from position 0 (top) to ${positions - 1} (bottom): fast stripes on the left, ever slower ones to the right."></canvas><span class="mark moved"></span><span class="mark"></span></div>
      </div>
      ${dModel > 16 ? "" : '<p class="code" aria-hidden="true"></p>'}`;
  }

  get place() { return this.state.position; }
  set place(position) { this.state.position = position; }
  get last() { return this.state.positions - 1; }

  build() {
    super.build();
    const { dModel, base, positions } = this.state, map = this.find(".map");
    paint(this.find(".map canvas"), Array.from({ length: positions }, (_, p) => encode(p, dModel, base)));
    for (const name of ["position", "shift"]) this.bind(name);
    drag(map, (event) => {
      this.pause();
      this.state.position = cellUnder(event, map, dModel, positions)[1];
      this.draw();
    });
  }

  values() {
    return encode(this.state.position, this.state.dModel, this.state.base);
  }

  // By how much the shift turns each hand, in degrees from 0 to 360: no position in it.
  turns() {
    const { dModel, base, shift } = this.state;
    return inverseFrequencies(dModel, base).map((w) => (((shift * w * 180) / Math.PI) % 360));
  }

  draw() {
    const { dModel, base, positions, position, shift } = this.state;
    const values = this.values(), turns = this.turns(), shown = Number.isInteger(position) ? String(position) : position.toFixed(1);
    const all = (selector) => [...this.shadowRoot.querySelectorAll(selector)];
    const angles = inverseFrequencies(dModel, base).map((w) => (position * w * 180) / Math.PI);
    all("svg .hand").forEach((hand, i) => hand.setAttribute("transform", `rotate(${angles[i]})`));
    all("svg .ghost").forEach((ghost, i) => {
      const back = (-turns[i] * Math.PI) / 180;
      ghost.style.display = shift ? "" : "none";
      ghost.setAttribute("transform", `rotate(${angles[i] + turns[i]})`);
      ghost.querySelector("path").setAttribute("d", `M0 -.6A.6 .6 0 ${turns[i] > 180 ? 1 : 0} 0 ${(0.6 * Math.sin(back)).toFixed(4)} ${(-0.6 * Math.cos(back)).toFixed(4)}`);
    });
    paint(this.find(".strip"), [values]);
    if (this.find(".code")) this.find(".code").textContent = `PE(${shown}) = ${values.map((v) => number(v).padStart(6)).join(" ")}`;
    this.show("position", shown);
    this.show("shift");
    const height = 100 / positions, edge = (row) => ({ left: "0", right: "0", top: `calc(${row * height}% - 2px)`, height: `calc(${height}% + 4px)` });
    Object.assign(this.find(".mark:not(.moved)").style, edge(position));
    Object.assign(this.find(".moved").style, edge(position + shift), { display: shift && position + shift < positions ? "" : "none" });
    const degrees = turns.map((turn) => number(turn, turn < 10 ? 1 : 0) + "°").join(", ");
    this.say(shift
      ? `From any position to the one ${shift} later the hands turn by ${degrees}: here from ${shown} to ${number(position + shift, Number.isInteger(position) ? 0 : 1)}.`
      : `Position ${shown}: the hands stand ${angles.map((angle) => number(angle % 360, 0) + "°").join(", ")} from the top.`);
  }
});
