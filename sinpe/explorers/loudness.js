// <sinpe-loudness>: how loud a token is beside its position at the start, and how far a step of Adam moves it.
define(class extends Explorer {
  static tag = "sinpe-loudness";
  static style = `
    .controls { gap: .5rem 1.2rem; }
    .bars { display: grid; grid-template-columns: 7.6rem minmax(0, 1fr); gap: .3rem .6rem; align-items: center; font-size: .85rem; }
    .parts { grid-column: 2; }
    .track { position: relative; height: 1.7rem; border-bottom: 1px solid color-mix(in srgb, currentColor 30%, transparent); }
    .track::before { content: ""; position: absolute; left: 60%; top: 0; bottom: -1px; border-left: 2px solid currentColor; }
    .bar { position: absolute; top: .3rem; bottom: .3rem; }
    .value { position: absolute; top: .25rem; padding: 0 .4rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
    .scale { position: relative; height: 1.2rem; font-size: .78rem; }
    .scale span { position: absolute; transform: translateX(-50%); white-space: nowrap; }
    .shares { display: flex; height: 1.7rem; border: 1px solid currentColor; }
    .parts { display: flex; flex-wrap: wrap; gap: .1rem 1rem; }
    .parts i { display: inline-block; width: .8em; height: .8em; }
    @container (max-width: 34rem) { .bars { grid-template-columns: minmax(0, 1fr); gap: .2rem; } .bars > .none { display: none; } .parts { grid-column: 1; } }
  `;

  template() {
    const { dModel, std, factor, tableRate, learningRate } = this.state;
    const words = (name, chosen) => ATTRIBUTES[this.localName][name].choices.map((text) => `<option value="${text}"${text === chosen ? " selected" : ""}>${text}</option>`).join("");
    const bar = (name, label) => `<span>${label}</span><span class="track ${name}"><span class="bar"></span><span class="value"></span></span>`;
    const parts = ["token with token", "mixed", "position with position"];
    return `
      <div class="controls">
        ${choice("dModel", "width d", options([64, 128, 256, 512, 1024, 4096], dModel, String))}
        ${choice("std", "standard deviation", words("std", std))}
        ${choice("factor", "factor", words("factor", factor))}
        ${choice("tableRate", "rate of the table: the others' ×", words("table-rate", tableRate))}
        ${choice("learningRate", "their rate", options([0.0005, 0.001, 0.002, 0.004], learningRate, String))}
      </div>
      <div class="bars">
        ${bar("ratio", "token at the start")}${bar("step", "one step of Adam")}
        <span class="none"></span><div class="scale" aria-hidden="true">${[-5, -3, 0, 3].map((power) => `<span style="left:${(power + 6) * 10}%">${power ? `10<sup>${number(power, 0)}</sup>` : "position = 1"}</span>`).join("")}</div>
        <span>a first score</span><span class="shares" aria-hidden="true">${parts.map((_, i) => `<span style="background:${hue(i)}"></span>`).join("")}</span>
        <div class="parts">${parts.map((part, i) => `<span><i style="background:${hue(i)}"></i> ${part} <b></b></span>`).join("")}</div>
      </div>`;
  }

  build() {
    for (const name of ["dModel", "std", "factor", "tableRate", "learningRate"]) this.bind(name);
  }

  // A choice in words, or a number of its own.
  worth(text) {
    const root = this.state.dModel ** 0.5;
    return { "d^-1/2": 1 / root, "√d": root, "1/√d": 1 / root }[text] ?? Number(text);
  }

  values() {
    const { std, factor, tableRate, learningRate } = this.state, scale = this.worth(factor) * 2 ** 0.5;
    const ratio = scale * this.worth(std), step = scale * this.worth(tableRate) * learningRate, total = (1 + ratio ** 2) ** 2;
    return { ratio, step, shares: [ratio ** 4 / total, (2 * ratio ** 2) / total, 1 / total] };
  }

  // The axis runs from 10^-6 to 10^4, so that 1, the position, stands at six tenths.
  draw() {
    const { ratio, step, shares } = this.values(), place = (value) => Math.min(Math.max(10 * (Math.log10(value) + 6), 0), 100);
    const short = (value) => (value === 0 ? "0" : value < 0.001 || value >= 1000 ? value.toExponential(1).replace("e", " · 10^").replace("+", "").replace("-", "−") : String(Number(value.toPrecision(3))));
    [["ratio", ratio, 0], ["step", step, 1]].forEach(([name, value, i]) => {
      const at = value ? place(value) : 0, left = at < 60;
      Object.assign(this.find(`.${name} .bar`).style, { background: hue(i ? 4 : 0), left: `${Math.min(at, 60)}%`, width: `${Math.abs(at - 60)}%`, opacity: value ? 1 : 0.15 });
      const text = Object.assign(this.find(`.${name} .value`), { textContent: short(value) });
      Object.assign(text.style, left ? { left: "60%", right: "" } : { left: "", right: "40%" });
    });
    this.shadowRoot.querySelectorAll(".shares span").forEach((part, i) => (part.style.width = `${100 * shares[i]}%`));
    const percent = shares.map((share) => `${number(100 * share, share < 0.01 ? 3 : 1)} %`);
    this.shadowRoot.querySelectorAll(".parts b").forEach((part, i) => (part.textContent = percent[i]));
    const heard = ratio < 0.5 ? "position drowns the word" : ratio < 2 ? "both are heard" : "the word drowns its position";
    const way = ratio >= 1 ? "" : step ? ` At least ${whole(Math.ceil((1 - ratio) / step))} steps until the token is as loud as its position.` : " The table is frozen, and it stays so.";
    this.say(`The token starts ${short(ratio)} times as loud as its position: ${heard}. A nominal step of Adam moves it by ${short(step)} of the position.${way}`);
  }
});
