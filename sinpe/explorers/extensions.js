// <sinpe-extensions>: by how much each rule for longer texts stretches the wavelength of every pair of a rotary head.
define(class extends Explorer {
  static tag = "sinpe-extensions";
  static style = PLOT;
  static names = ["interpolation", "NTK-aware", "YaRN", "Llama 3"];
  static looks = ["interpolation", "ntk-aware", "yarn", "llama-3"];

  check() {
    const { pair, headDim } = this.state;
    if (pair >= headDim / 2) throw new RangeError(`pair must be less than ${headDim / 2}, the pairs of head-dim ${headDim}, got ${pair}`);
  }

  template() {
    const { headDim, base, factor, length, pair } = this.state, { names, looks } = this.constructor;
    return `
      <div class="controls">
        ${slider("factor", "Factor", 1, Math.max(16, factor), factor, 0.5)}
        ${slider("power", "Original length", 5, 14, Math.log2(length), 1)}
        ${slider("pair", "Pair", 0, headDim / 2 - 1, pair)}
        ${choice("headDim", "head width", options([16, 32, 64, 128], headDim, String))}
        ${choice("base", "base", options([10000, 500000, 1000000], base))}
      </div>
      ${legend(names, looks)}
      ${plot("new wavelength / old", "old wavelength / original length", looks.map((name, i) => curve(`rule rule${i}`, name, 2.2)).join("") + '<path class="once" stroke-width="1.2"/>' + CURSOR)}`;
  }

  build() {
    for (const name of ["factor", "pair", "base"]) this.bind(name);
    this.state.power = Math.log2(this.state.length);
    this.bind("power", () => (this.state.length = 2 ** this.state.power));
    this.bind("headDim", () => (this.state.pair = Math.min(this.state.pair, this.state.headDim / 2 - 1)));
    const svg = this.find(".plot svg");
    drag(svg, (event) => {
      this.state.pair = cellUnder(event, svg, this.state.headDim / 2, 1)[0]; // wavelengths are a geometric series
      this.draw();
    });
  }

  // The frequencies under each rule, as sinpe.positions.extensions computes them, and YaRN's factor on queries and keys.
  values() {
    const { headDim, base, factor, length } = this.state, plain = inverseFrequencies(headDim, base), pairs = plain.length;
    const between = (value) => Math.min(Math.max(value, 0), 1), mixed = (w, kept) => w * kept + (w / factor) * (1 - kept);
    const larger = headDim > 2 ? base * factor ** (headDim / (headDim - 2)) : base;
    const turnsAt = (turns) => (headDim * Math.log(length / (2 * Math.PI * turns))) / (2 * Math.log(base));
    const low = Math.max(Math.floor(turnsAt(32)), 0), high = Math.min(Math.ceil(turnsAt(1)), headDim - 1);
    return {
      plain, turns: plain.map((w) => (length * w) / (2 * Math.PI)), attention: 0.1 * Math.log(factor) + 1,
      rules: {
        "interpolation": plain.map((w) => w / factor),
        "NTK-aware": inverseFrequencies(headDim, larger),
        "YaRN": plain.map((w, i) => mixed(w, 1 - between((i - low) / (high > low ? high - low : 1e-3)))),
        "Llama 3": plain.map((w) => mixed(w, between(((length * w) / (2 * Math.PI) - 1) / 3))),
      },
    };
  }

  draw() {
    const { headDim, factor, pair, length } = this.state, { plain, turns, rules, attention } = this.values(), box = this.find(".plot");
    const log = (value) => -Math.log10(value), [from, to] = [log(turns[0]), log(turns.at(-1))];
    const x = (wave) => (to > from ? (wave - from) / (to - from) : 0.5), top = Math.log(Math.max(factor, 2)), y = (stretch) => 0.04 + (0.92 * Math.log(stretch)) / top;
    Object.entries(rules).forEach(([, frequencies], i) => this.find(`.rule${i}`).setAttribute("d", line(frequencies.map((w, j) => [x(log(turns[j])), y(plain[j] / w)]))));
    this.find(".once").setAttribute("d", `M${x(0)} 0V1`);
    const decades = Array.from({ length: 20 }, (_, i) => i - 12).filter((power) => power >= from && power <= to), step = Math.ceil(decades.length / 5);
    const powers = decades.filter((power) => power % step === 0).map((power) => [x(power), power ? `10<sup>${number(power, 0)}</sup>` : "1"]);
    ticks(box, powers, [1, 2, 4, 8, 16, 32, 64].filter((stretch) => stretch <= Math.max(factor, 2)).map((stretch) => [y(stretch), stretch]));
    this.find(".plot svg").setAttribute("aria-label", `New over old wavelength of ${headDim / 2} pairs under four rules, at factor ${factor} and original length ${length}`);
    this.show("factor", String(factor));
    this.show("power", whole(length));
    this.show("pair", undefined, { max: headDim / 2 - 1 });
    this.find(".cursor").setAttribute("d", `M${x(log(turns[pair]))} 0V1`);
    this.find(".dot").setAttribute("d", Object.values(rules).map((frequencies) => `M${x(log(turns[pair]))} ${1 - y(plain[pair] / frequencies[pair])}h0`).join(""));
    const stretched = Object.entries(rules).map(([name, frequencies]) => `${name} ${number(plain[pair] / frequencies[pair], 2)}`).join(", ");
    this.say(`Pair ${pair}: wavelength ${count((2 * Math.PI) / plain[pair])}, ${count(turns[pair])} turns within ${whole(length)}. Stretched by: ${stretched}. ` +
      `${turns.filter((turn) => turn >= 1).length} of ${headDim / 2} pairs came round in training. YaRN multiplies queries and keys by ${number(attention, 4)}.`);
  }
});
