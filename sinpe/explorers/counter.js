// <sinpe-counter>: the binary digits of a position beside sines that do the same work, fast columns on the left.
define(class extends Player {
  static tag = "sinpe-counter";
  static style = MAP + `
    .two { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: .3rem 1.2rem; font-size: .85rem; }
    .map canvas { height: 14rem; }
    .row { display: flex; font-variant-numeric: tabular-nums; text-align: center; font-size: clamp(11px, 2.4vw, .85rem); }
    .row span { flex: 1 1 0; min-width: 0; border: 1px solid currentColor; margin-left: -1px; padding: .25rem 0; }
    .row .one { background: color-mix(in srgb, currentColor 22%, transparent); font-weight: 700; }
    .row .flips { border-bottom: 3px solid #d1601f; }
    .narrow span { writing-mode: vertical-rl; padding: .2rem 0; line-height: 1; display: flex; align-items: center; }
  `;

  check() {
    const { position, bits } = this.state, rows = 2 ** bits;
    if (position >= rows) throw new RangeError(`position must be less than ${rows}, which ${bits} bits can count to, got ${position}`);
  }

  template() {
    const { bits, position } = this.state, rows = 2 ** bits;
    const half = (kind, title) => `<div><div>${title}</div><div class="map"><canvas role="img" aria-label="${title} of the positions 0 (top) to ${rows - 1} (bottom), the fastest column on the left"></canvas><span class="mark"></span></div></div>`;
    return `
      <div class="controls">${PLAY}${slider("position", "Position", 0, rows - 1, position)}</div>
      <div class="two">${half("digits", "binary digits")}${half("waves", "sines")}
        <div class="row digits" aria-hidden="true">${"<span></span>".repeat(bits)}</div><div class="row waves${bits > 6 ? " narrow" : ""}" aria-hidden="true">${"<span></span>".repeat(bits)}</div></div>`;
  }

  get place() { return this.state.position; }
  set place(position) { this.state.position = position; }
  get last() { return 2 ** this.state.bits - 1; }

  build() {
    super.build();
    const { bits } = this.state, rows = 2 ** bits, every = Array.from({ length: rows }, (_, p) => p);
    const [digits, waves] = this.shadowRoot.querySelectorAll("canvas");
    paint(digits, every.map((p) => this.digits(p).map((digit) => 2 * digit - 1)));
    paint(waves, every.map((p) => this.waves(p)));
    this.bind("position");
    for (const map of this.shadowRoot.querySelectorAll(".map")) {
      drag(map, (event) => {
        this.pause();
        this.state.position = cellUnder(event, map, bits, rows)[1];
        this.draw();
      });
    }
  }

  // Column i: the digit of 2^i, and a sine that turns by 2^-i a position.
  digits(position) { return Array.from({ length: this.state.bits }, (_, i) => Math.floor(position / 2 ** i) % 2); }
  waves(position) { return Array.from({ length: this.state.bits }, (_, i) => Math.sin(position * 2 ** -i)); }

  values() {
    const { position } = this.state, here = Math.floor(position), next = this.digits(here + 1), waves = this.waves(here);
    return {
      digits: this.digits(here), waves: this.waves(position),
      flips: this.digits(here).map((digit, i) => digit !== next[i]),
      steps: this.waves(here + 1).map((wave, i) => Math.abs(wave - waves[i])),
    };
  }

  draw() {
    const { position, bits } = this.state, { digits, waves, flips, steps } = this.values(), rows = 2 ** bits;
    this.show("position", String(Math.floor(position)));
    this.shadowRoot.querySelectorAll(".digits span").forEach((cell, i) => {
      cell.textContent = digits[i];
      cell.className = `${digits[i] ? "one" : ""} ${flips[i] ? "flips" : ""}`;
    });
    this.shadowRoot.querySelectorAll(".waves span").forEach((cell, i) => (cell.textContent = number(waves[i], 1)));
    const mark = { left: "0", right: "0", top: `calc(${(100 * Math.floor(position)) / rows}% - 2px)`, height: `calc(${100 / rows}% + 4px)` };
    this.shadowRoot.querySelectorAll(".mark").forEach((each) => Object.assign(each.style, mark));
    const flipped = flips.filter(Boolean).length;
    this.say(`Position ${Math.floor(position)} is ${[...digits].reverse().join("")} in binary, the fast digit last. One position later ${flipped} of ${bits} digits flip, ` +
      `and no sine moves by more than ${number(Math.max(...steps), 2)}; the slowest moves by ${number(steps[bits - 1], 3)}.`);
  }
});
