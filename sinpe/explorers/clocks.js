// <sinpe-clocks>: the hands of d-model / 2 clocks, and under each the two columns of the table that it writes.
define(class extends Explorer {
  static tag = "sinpe-clocks";
  static speed = 6; // positions a second while playing
  static style = `
    .grid { display: grid; gap: .25rem 0; align-items: center; }
    .grid svg { display: block; width: min(100%, 5rem); margin: auto; padding: 0 6%; }
    .wave { text-align: center; font-size: clamp(.62rem, 2vw, .8rem); white-space: nowrap; }
    .many .wave { writing-mode: vertical-rl; margin: auto; }
    .rest { grid-column: 2 / -1; }
    .strip { height: 1.6rem; }
    .map canvas { height: 14rem; }
    .axis { padding-right: .5em; align-self: center; }
    .ticks { align-self: stretch; display: flex; flex-direction: column; justify-content: space-between; line-height: 1; }
    .code { font-family: ui-monospace, monospace; font-size: .8rem; white-space: pre-wrap; }
  `;

  check() {
    const { position, positions } = this.state;
    if (position >= positions) throw new RangeError(`position must be less than positions, which is ${positions}, got ${position}`);
  }

  template() {
    const { dModel, base, positions, position } = this.state;
    const frequencies = inverseFrequencies(dModel, base);
    const dials = frequencies.map((_, i) => `<svg viewBox="-1.15 -1.15 2.3 2.3" aria-hidden="true"><circle r="1" fill="none" stroke="currentColor" stroke-width=".05"/>
      <g fill="${HANDS[i % HANDS.length]}" stroke="${HANDS[i % HANDS.length]}"><line y2="-1" stroke-width=".12"/><circle cy="-1" r=".12" stroke="none"/></g></svg>`);
    return `
      <div class="controls">
        <button type="button">Play</button>
        ${slider("position", "Position", 0, positions - 1, position)}
      </div>
      <div class="grid${frequencies.length > 8 ? " many" : ""}" style="grid-template-columns: 4.6rem repeat(${frequencies.length}, minmax(0, 1fr))">
        <span class="axis">clock hands</span>${dials.join("")}
        <span class="axis">wavelength</span>${frequencies.map((w) => `<span class="wave">${count((2 * Math.PI) / w)}</span>`).join("")}
        <span class="axis">code</span><canvas class="strip rest" role="img"></canvas>
        <span class="axis ticks"><span>position 0</span><span>${positions - 1}</span></span>
        <div class="map rest"><canvas role="img" aria-label="All codes from position 0 (top) to ${positions - 1} (bottom): fast stripes on the left, ever slower ones to the right."></canvas><span class="mark"></span></div>
      </div>
      ${dModel > 16 ? "" : '<p class="code"></p>'}`;
  }

  build() {
    const { dModel, base, positions } = this.state;
    paint(this.find(".map canvas"), Array.from({ length: positions }, (_, p) => encode(p, dModel, base)));
    this.bind("position");
    this.find("button").addEventListener("click", () => (this.frame ? this.pause() : this.play()));
    this.find(".map").addEventListener("click", (event) => {
      this.pause();
      this.state.position = cellUnder(event, this.find(".map"), dModel, positions)[1];
      this.draw();
    });
  }

  values() {
    return encode(this.state.position, this.state.dModel, this.state.base);
  }

  draw() {
    const { dModel, base, positions, position } = this.state;
    const values = this.values(), shown = Number.isInteger(position) ? String(position) : position.toFixed(1);
    this.shadowRoot.querySelectorAll("svg g").forEach((hand, i) => hand.setAttribute("transform", `rotate(${(position * base ** ((-2 * i) / dModel) * 180) / Math.PI})`));
    paint(this.find(".strip"), [values]);
    this.find(".strip").setAttribute("aria-label", `PE(${shown}) = ${values.map((v) => number(v)).join(" ")}`);
    if (this.find(".code")) this.find(".code").textContent = `PE(${shown}) = ${values.map((v) => number(v).padStart(6)).join(" ")}`;
    this.find("input").value = position;
    this.find("output").textContent = shown;
    const height = 100 / positions;
    Object.assign(this.find(".mark").style, { left: "-3px", right: "-3px", top: `calc(${position * height}% - 2px)`, height: `calc(${height}% + 4px)` });
  }

  play() {
    const { position, positions } = this.state, last = positions - 1;
    const from = position >= last ? 0 : position, speed = this.constructor.speed;
    let began = null;
    const step = (now) => {
      began ??= now;
      const travelled = ((now - began) / 1000) * (REDUCED_MOTION.matches ? 1 : speed);
      this.state.position = Math.min(from + (REDUCED_MOTION.matches ? Math.floor(travelled) : travelled), last);
      this.draw();
      if (this.state.position < last) this.frame = requestAnimationFrame(step);
      else this.pause();
    };
    this.find("button").textContent = "Pause";
    this.frame = requestAnimationFrame(step);
  }

  // Stop on a whole position.
  pause() {
    if (!this.frame) return;
    cancelAnimationFrame(this.frame);
    this.frame = null;
    this.state.position = Math.round(this.state.position);
    this.find("button").textContent = "Play";
    this.draw();
  }
});
