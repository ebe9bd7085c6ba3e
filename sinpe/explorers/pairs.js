// <sinpe-pairs>: the differences of two arms of a study, pair by pair, and the interval of the first so many; the losses come with the element.
define(class extends Explorer {
  static tag = "sinpe-pairs";
  static margin = 0.02; // nats: sinpe.experiments.estimates.MARGIN
  static style = PLOT + `
    label, select { min-width: 0; max-width: 100%; }
    .plot > svg { height: 15rem; overflow: hidden; cursor: crosshair; }
    .band { stroke: none; fill: #2b7bba; opacity: .22; }
    .margin { stroke: none; fill: currentColor; opacity: .14; }
  `;

  check() {
    const { data, comparison, pairs } = this.state, most = data.losses[comparison]?.[0].length;
    if (!most) throw new RangeError(`comparison must be one of ${Object.keys(data.losses).join("; ")}, got ${comparison}`);
    if (pairs > most) throw new RangeError(`pairs must be at most ${most}, as many as were run, got ${pairs}`);
  }

  template() {
    const { data, comparison, partner, pairs } = this.state, named = (names, chosen) => names.map((name) => `<option value="${name}"${name === chosen ? " selected" : ""}>${name.replace(" - ", " − ")}</option>`).join("");
    return `
      <div class="controls">
        ${choice("comparison", "comparison", named(Object.keys(data.losses), comparison))}
        ${choice("partner", "partner", named(ATTRIBUTES[this.localName].partner.choices, partner))}
        ${slider("pairs", "Pairs", 2, data.losses[comparison][0].length, pairs)}
      </div>
      <div class="legend" aria-hidden="true"><span>● one pair</span><span>${sample(0)} mean so far</span><span>band: 95 % interval</span><span>grey: ±0.02</span></div>
      ${plot("difference of the test loss (nats)", "pairs", '<path class="margin"/><path class="band"/><path class="zero" stroke-width="1"/><path class="rest" stroke-width="7" stroke-linecap="round" opacity=".35"/><path class="used" stroke-width="7" stroke-linecap="round"/>' + curve("mean", 0) + CURSOR)}`;
  }

  build() {
    this.bind("comparison", () => (this.state.pairs = Math.min(this.state.pairs, this.state.data.losses[this.state.comparison][0].length)));
    for (const name of ["partner", "pairs"]) this.bind(name);
    const svg = this.find(".plot svg");
    drag(svg, (event) => {
      this.state.pairs = Math.max(2, cellUnder(event, svg, this.gaps().length, 1)[0] + 1);
      this.draw();
    });
  }

  // The first so many differences. With the next seed as partner the same losses are paired off one place along, so that their mean stays.
  gaps(pairs = Infinity) {
    const { data, comparison, partner } = this.state, [these, those] = data.losses[comparison].map((losses) => losses.slice(0, pairs));
    return these.map((loss, i) => loss - those[partner === "same seed" ? i : (i + 1) % those.length]);
  }

  // Mean, standard deviation, Student's interval and the verdict of this one comparison, not corrected for others.
  values(pairs = this.state.pairs) {
    const { margin } = this.constructor, gaps = this.gaps(pairs), n = gaps.length, mean = gaps.reduce((sum, gap) => sum + gap, 0) / n;
    const std = Math.sqrt(gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / (n - 1)), error = std / Math.sqrt(n);
    const [both, one] = this.state.data.t.map((quantiles) => quantiles[n - 2] * error), low = mean - both, high = mean + both;
    const apart = (low > 0 || high < 0) && Math.abs(mean) >= margin;
    return { mean, std, low, high, n, verdict: apart ? (mean < 0 ? "lower" : "higher") : Math.abs(mean) + one <= margin ? "equal" : "undecided" };
  }

  draw() {
    const { comparison, partner, pairs } = this.state, { margin } = this.constructor, gaps = this.gaps(), most = gaps.length;
    const floor = Math.min(-margin, ...gaps), roof = Math.max(margin, ...gaps), room = 0.3 * (roof - floor), height = roof - floor + 2 * room;
    const x = (n) => (n - 0.5) / most, y = (gap) => (gap - floor + room) / height, found = Array.from({ length: most - 1 }, (_, i) => this.values(i + 2));
    const dots = (some, from) => some.map((gap, i) => `M${x(from + i + 1)} ${1 - y(gap)}h0`).join("");
    const paths = {
      margin: line([[0, y(-margin)], [0, y(margin)], [1, y(margin)], [1, y(-margin)]]),
      band: line([...found.map(({ n, high }) => [x(n), y(high)]), ...found.map(({ n, low }) => [x(n), y(low)]).reverse()]),
      zero: `M0 ${1 - y(0)}H1`, used: dots(this.gaps(pairs), 0), rest: dots(gaps.slice(pairs), pairs), mean: line(found.map(({ n, mean }) => [x(n), y(mean)])),
    };
    for (const [name, path] of Object.entries(paths)) this.find(`.plot .${name}`).setAttribute("d", path);
    const { mean, std, low, high, verdict } = this.values(), signed = (value) => (value > 0 ? "+" : "") + number(value), step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5].find((each) => height / each <= 6) ?? 1, levels = [];
    for (let level = Math.ceil((floor - room) / step); level * step <= roof + room; level++) levels.push([y(level * step), number(level * step, 2)]);
    ticks(this.find(".plot"), [1, 5, 10, 15, 20, most].filter((n) => n === most || most - n > 1).map((n) => [x(n), n]), levels);
    this.find(".cursor").setAttribute("d", `M${x(pairs)} 0V1`);
    this.find(".dot").setAttribute("d", `M${x(pairs)} ${1 - y(mean)}h0`);
    this.find(".plot svg").setAttribute("aria-label", "Differences, and the interval over the number of pairs");
    this.show("pairs", undefined, { max: most });
    this.say(`${comparison.replace(" - ", " − ")}, ${pairs} pairs, partner: ${partner}. Mean ${signed(mean)} nats, spread ${number(std)}, interval ${signed(low)} to ${signed(high)}. Alone and uncorrected: ${verdict}.`);
  }
});
