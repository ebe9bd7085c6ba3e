// <sinpe-rotation>: the pairs of a query and of a key, each turned by its own position; what their product sees is the distance.
define(class extends Player {
  static tag = "sinpe-rotation";
  static style = PLOT + `
    .grid { display: grid; gap: .2rem 0; align-items: center; font-size: clamp(11px, 2vw, .8rem); text-align: center; font-variant-numeric: tabular-nums; }
    .grid svg { display: block; width: min(100%, 6.5rem); margin: auto; padding: 0 4%; }
    .grid .axis { padding-right: .5em; }
    .plot > svg { height: 10rem; }
  `;
  // Length and direction (degrees) of each pair of the content, as good as any other.
  static content = {
    query: [[1, 20], [0.8, 75], [1.1, 140], [0.6, 220], [0.9, 300], [0.7, 10], [1, 170], [0.5, 95]],
    key: [[0.9, 350], [1.1, 30], [0.7, 100], [1, 200], [0.6, 60], [0.8, 330], [0.9, 140], [1, 15]],
  };

  check() {
    const { positions } = this.state;
    for (const name of ["query", "key"]) {
      if (this.state[name] >= positions) throw new RangeError(`${name} must be less than positions, which is ${positions}, got ${this.state[name]}`);
    }
  }

  template() {
    const { headDim, positions, query, key } = this.state, pairs = inverseFrequencies(headDim, this.state.base);
    const hand = (side, i, end) => `<g class="${side}" style="stroke:${hue(i)}" stroke-linecap="${end}"><path stroke-width=".09" stroke-dasharray="${i ? ".14 .16" : ""}"/><path stroke-width=".22"/></g>`;
    const dial = `<svg viewBox="-1.25 -1.25 2.5 2.5" aria-hidden="true"><circle r="1.15" fill="none" stroke="currentColor" stroke-width=".03"/>${hand("query", 0, "round")}${hand("key", 1, "square")}</svg>`;
    return `
      <div class="controls">
        ${PLAY}
        ${slider("both", "Move both", 0, positions - 1, 0)}
        ${slider("query", "Query at", 0, positions - 1, query)}
        ${slider("key", "Key at", 0, positions - 1, key)}
      </div>
      ${legend(["query, turned by its position", "key, turned by its own"])}
      <div class="grid" style="grid-template-columns: 4.6rem repeat(${pairs.length}, minmax(0, 1fr))">
        <span class="axis">pairs</span>${pairs.map(() => dial).join("")}
        <span class="axis">wavelength</span>${pairs.map((w) => `<span>${count((2 * Math.PI) / w)}</span>`).join("")}
        <span class="axis">product</span>${pairs.map(() => '<span class="term"></span>').join("")}
      </div>
      ${plot("score: the sum of the products", "distance from the key to the query", `<path class="curve" style="stroke:${hue(2)}" stroke-width="1.8"/>` + CURSOR)}`;
  }

  get place() { return Math.min(this.state.query, this.state.key); }
  set place(place) {
    const ahead = Math.round(this.state.query - this.state.key);
    this.state.query = place + Math.max(ahead, 0);
    this.state.key = place + Math.max(-ahead, 0);
  }
  get last() { return this.state.positions - 1 - Math.abs(this.state.query - this.state.key); }

  build() {
    super.build();
    for (const name of ["query", "key"]) this.bind(name);
    this.bind("both", () => (this.place = Number(this.find('[name="both"]').value)));
    const { positions } = this.state, most = this.most(), halves = [-1, -0.5, 0, 0.5, 1];
    const points = Array.from({ length: 4 * positions - 3 }, (_, i) => i / 2 - positions + 1).map((gap) => [this.across(gap), this.up(this.score(gap))]);
    this.find(".curve").setAttribute("d", line(points));
    this.find(".plot svg").setAttribute("aria-label", "The score over the distance");
    ticks(this.find(".plot"), halves.map((half) => [(half + 1) / 2, number(half * (positions - 1), 0)]), halves.map((half) => [(half + 1) / 2, number(half * most, 1)]));
  }

  across(gap) { return (gap / (this.state.positions - 1) + 1) / 2; }
  up(score) { return (score / this.most() + 1) / 2; }

  // The vector of one side, turned to a position: features (2i, 2i + 1) are pair i.
  side(name, position) {
    const { headDim, base } = this.state;
    return inverseFrequencies(headDim, base).flatMap((w, i) => {
      const [length, degrees] = this.constructor.content[name][i], angle = (degrees * Math.PI) / 180 + position * w;
      return [length * Math.cos(angle), length * Math.sin(angle)];
    });
  }

  // Σ |q_i| |k_i| cos(ω_i · distance + φ_i), and the largest it could be
  score(gap) { return this.dot(this.side("query", gap), this.side("key", 0)); }
  dot(a, b) { return a.reduce((sum, value, j) => sum + value * b[j], 0); }
  most() {
    const { query, key } = this.constructor.content;
    return query.slice(0, this.state.headDim / 2).reduce((sum, [length], i) => sum + length * key[i][0], 0);
  }

  values() {
    const { headDim, base, query, key } = this.state;
    const q = this.side("query", query), k = this.side("key", key), plain = { q: this.side("query", 0), k: this.side("key", 0) };
    const added = (vector, position) => vector.map((value, j) => value + encode(position, headDim, base)[j]);
    return { ...plain, turnedQ: q, turnedK: k, score: this.dot(q, k), added: this.dot(added(plain.q, query), added(plain.k, key)) };
  }

  draw() {
    const { query, key } = this.state, { turnedQ, turnedK, score, added } = this.values();
    this.state.both = this.place;
    for (const name of ["both", "query", "key"]) this.show(name, undefined, name === "both" ? { max: this.last } : {});
    for (const [name, vector] of [["query", turnedQ], ["key", turnedK]]) {
      this.shadowRoot.querySelectorAll(`.grid .${name}`).forEach((hand, i) => {
        const tip = `${vector[2 * i]} ${-vector[2 * i + 1]}`;
        [`M0 0L${tip}`, `M${tip}h.001`].forEach((path, j) => hand.children[j].setAttribute("d", path));
      });
    }
    this.shadowRoot.querySelectorAll(".term").forEach((term, i) => (term.textContent = number(this.dot(turnedQ.slice(2 * i, 2 * i + 2), turnedK.slice(2 * i)), 2)));
    const gap = query - key;
    this.find(".cursor").setAttribute("d", `M${this.across(gap)} 0V1`);
    this.find(".dot").setAttribute("d", `M${this.across(gap)} ${1 - this.up(score)}h0`);
    this.say(`Query at ${number(query, 0)}, key at ${number(key, 0)}, distance ${number(gap, 0)}: turned, the score is ${number(score)}, wherever the two stand so far apart. ` +
      `With codes added instead of turned it is ${number(added)} here, and another elsewhere.`);
  }
});
