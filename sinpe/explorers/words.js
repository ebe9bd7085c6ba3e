// <sinpe-words>: a head reads a sentence whose words can be moved, without positions and with sinusoidal codes added.
define(class extends Explorer {
  static tag = "sinpe-words";
  static width = 8;
  static style = `
    .chips { display: flex; flex-wrap: wrap; gap: .4rem; }
    .chips button { touch-action: pan-y; cursor: grab; min-width: 3em; }
    .two { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 15rem), 1fr)); gap: .6rem 1.5rem; }
    table { width: 100%; table-layout: fixed; border-collapse: collapse; font-size: .8rem; font-variant-numeric: tabular-nums; text-align: center; }
    caption { text-align: left; font-size: .9rem; padding-bottom: .2rem; }
    th { font-weight: normal; overflow-wrap: anywhere; padding: .15rem; }
    td { padding: .45rem 0; border: 1px solid color-mix(in srgb, currentColor 30%, transparent); cursor: pointer; }
    thead td { border: 0; cursor: auto; }
    .chosen { outline: 3px solid #d1601f; outline-offset: -3px; font-weight: 700; }
  `;

  template() {
    const { sentence: words } = this.state, named = (chosen) => words.map((word, i) => `<option value="${i}"${i === chosen ? " selected" : ""}></option>`).join("");
    const grid = (kind) => `<table class="${kind}"><caption>${kind} position</caption><thead><tr><td></td>${words.map(() => '<th scope="col"></th>').join("")}</tr></thead>
      <tbody>${words.map(() => `<tr><th scope="row"></th>${words.map(() => "<td></td>").join("")}</tr>`).join("")}</tbody></table>`;
    return `
      <div class="controls">
        <div class="chips" role="group" aria-label="Words in their order: drag one, or move it with the arrow keys">${words.map((_, i) => `<button type="button" value="${i}"></button>`).join("")}</div>
        <button type="button" class="round">Turn round</button><button type="button" class="mix">Shuffle</button>
        ${choice("reader", "reader", named(0))}${choice("read", "reads from", named(1))}
      </div>
      <div class="two">${grid("without")}${grid("with")}</div>`;
  }

  build() {
    const { sentence: words } = this.state, chips = this.find(".chips");
    Object.assign(this.state, { order: words.map((_, i) => i), reader: 0, read: 1 });
    const fill = (selector) => this.shadowRoot.querySelectorAll(selector).forEach((each, i) => (each.textContent = words[i % words.length]));
    ["option", ".chips button"].forEach(fill); // as text: words may hold any sign
    this.first = this.values().with;
    for (const name of ["reader", "read"]) this.bind(name);
    this.find(".round").addEventListener("click", () => this.arrange([...this.state.order].reverse()));
    // always the same step, so that nothing is left to chance: the last word, the first, the last but one, …
    this.find(".mix").addEventListener("click", () => this.arrange(this.state.order.map((_, i, old) => old.at(i % 2 ? (i - 1) / 2 : -1 - i / 2))));
    chips.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step || !event.target.value) return;
      event.preventDefault();
      this.move(Number(event.target.value), step);
      event.target.focus();
    });
    let held = null;
    chips.addEventListener("pointerdown", (event) => (held = event.target.value ? event.target : null));
    chips.addEventListener("pointermove", (event) => {
      if (!held || !event.buttons) return;
      const over = [...chips.children].find((chip) => {
        const box = chip.getBoundingClientRect();
        return event.clientX > box.left && event.clientX < box.right && event.clientY > box.top - 9 && event.clientY < box.bottom + 9;
      });
      const { order } = this.state;
      if (over && over !== held) this.move(Number(held.value), order.indexOf(Number(over.value)) - order.indexOf(Number(held.value)));
    });
    this.shadowRoot.querySelectorAll("tbody td").forEach((cell, i) => cell.addEventListener("click", () => {
      const { order } = this.state, at = i % words.length ** 2;
      Object.assign(this.state, { reader: order[Math.floor(at / words.length)], read: order[at % words.length] });
      this.draw();
    }));
  }

  move(word, by) {
    const order = this.state.order.filter((other) => other !== word), place = this.state.order.indexOf(word) + by;
    order.splice(Math.min(Math.max(place, 0), order.length), 0, word);
    this.arrange(order);
  }
  arrange(order) {
    this.state.order = order;
    const chips = [...this.find(".chips").children].sort((a, b) => order.indexOf(Number(a.value)) - order.indexOf(Number(b.value)));
    this.find(".chips").append(...chips);
    this.draw();
  }

  // Numbers that look drawn from a normal distribution, the same for the same text on every machine.
  static noise(text, size) {
    let seed = [...text].reduce((hash, sign) => Math.imul(hash ^ sign.codePointAt(0), 16777619), 2166136261);
    const uniform = () => {
      seed = (seed + 0x6d2b79f5) | 0;
      let bits = Math.imul(seed ^ (seed >>> 15), 1 | seed);
      bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
      return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
    };
    return Array.from({ length: size }, () => Array.from({ length: 12 }, uniform).reduce((sum, u) => sum + u, -6));
  }

  // The word vectors in their order, the head (of 400 the one in which the codes show best), and how much each word (row) reads from each (column).
  values() {
    const { width, noise } = this.constructor, { sentence: words, order } = this.state, root = width ** 0.5;
    const vectors = order.map((i) => noise(words[i], width)), head = ["query331", "key331"].map((name) => noise(name, width ** 2).map((entry) => entry / root));
    const project = (x, w) => x.map((row) => Array.from({ length: width }, (_, j) => row.reduce((sum, value, i) => sum + value * w[i * width + j], 0)));
    const attend = (x) => {
      const [q, k] = head.map((w) => project(x, w));
      return q.map((query) => {
        const powers = k.map((key) => Math.exp(key.reduce((sum, value, j) => sum + value * query[j], 0) / root)), total = powers.reduce((a, b) => a + b);
        return powers.map((power) => power / total);
      });
    };
    const placed = vectors.map((vector, at) => vector.map((value, j) => value + encode(at, width, 10000)[j]));
    return { vectors, head, without: attend(vectors), with: attend(placed) };
  }

  draw() {
    const { sentence: words, order, reader, read } = this.state, values = this.values(), row = order.indexOf(reader), column = order.indexOf(read);
    for (const kind of ["without", "with"]) {
      this.shadowRoot.querySelectorAll(`.${kind} th`).forEach((name, i) => (name.textContent = words[order[i % words.length]]));
      this.shadowRoot.querySelectorAll(`.${kind} tbody td`).forEach((cell, i) => {
        const at = [Math.floor(i / words.length), i % words.length], weight = values[kind][at[0]][at[1]];
        cell.textContent = number(weight, 2);
        cell.style.background = `color-mix(in srgb, #2b7bba ${(55 * weight).toFixed(0)}%, transparent)`;
        cell.className = at[0] === row && at[1] === column ? "chosen" : "";
      });
    }
    this.shadowRoot.querySelectorAll(".chips button").forEach((chip, i) => chip.setAttribute("aria-label", `${chip.textContent}, place ${i + 1} of ${words.length}`));
    for (const name of ["reader", "read"]) this.find(`[name="${name}"]`).value = this.state[name];
    this.say(`“${order.map((i) => words[i]).join(" ")}”: without position ${words[reader]} reads ${number(values.without[row][column])} from ${words[read]}, in every order. ` +
      `With position it reads ${number(values.with[row][column])} here, and ${number(this.first[reader][read])} in the first order.`);
  }
});
