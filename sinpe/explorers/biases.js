// <sinpe-biases>: what the distance of a key does to its weight: ALiBi's slope, T5's buckets, Shaw's clipped distances, a window.
define(class extends Explorer {
  static tag = "sinpe-biases";
  static style = PLOT + `
    .four { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: .8rem 1.2rem; }
    .four .plot { margin: 0; }
    .plot > svg { height: 7.5rem; }
    .plot b { font-weight: 600; }
    .curve { stroke-dasharray: none; }
  `;
  static names = ["alibi", "t5", "shaw", "window"];

  check() {
    const { distance, reach } = this.state;
    if (distance >= reach) throw new RangeError(`distance must be less than reach, which is ${reach}, got ${distance}`);
  }

  template() {
    const { exponent, distance, reach, clip, maxDistance, window: keys } = this.state, titles = ["ALiBi: a slope", "T5: buckets", "Shaw: clipped", "A window"];
    const panel = (title, i) => plot(`<b>${title}</b>`, "distance of the key", curve("curve", i < 3 ? this.constructor.names[i] : 6) + CURSOR, this.constructor.names[i]);
    return `
      <div class="controls">
        ${slider("exponent", "Slope", 0, 10, exponent, 0.5)}
        ${slider("distance", "Distance", 0, reach - 1, distance)}
        ${choice("maxDistance", "T5's largest distance", options([32, 64, 128, 256], maxDistance, String))}
        ${choice("clip", "Shaw's", options([4, 16, 32, 64], clip, String))}
        ${choice("window", "window", options([16, 64, 128], keys, String))}
      </div>
      <div class="four">${titles.map(panel).join("")}</div>`;
  }

  build() {
    for (const name of ["exponent", "distance", "maxDistance", "clip", "window"]) this.bind(name);
    const { reach } = this.state, tick = [0, 0.5, 1];
    for (const name of this.constructor.names) {
      const box = this.find(`.plot.${name}`), svg = box.querySelector("svg");
      ticks(box, tick.map((part) => [part, whole(Math.round(part * reach))]), tick.map((part) => [part, part]));
      drag(svg, (event) => {
        this.state.distance = cellUnder(event, svg, reach, 1)[0];
        this.draw();
      });
    }
  }

  // T5: the smallest distance of each of 32 causal buckets. Sixteen hold one distance each, the others grow geometrically: in integers, since rounding moves an edge.
  edges() {
    if (this.known?.most === this.state.maxDistance) return this.known.edges;
    const exact = 16n, wide = 16n, most = BigInt(this.state.maxDistance), edges = Array.from({ length: 17 }, (_, i) => i);
    for (let step = 1n; step < wide; step++) {
      let n = BigInt(edges.at(-1));
      while (n ** wide < most ** step * exact ** (wide - step)) n++;
      edges.push(Number(n));
    }
    this.known = { most: this.state.maxDistance, edges };
    return edges;
  }
  bucket(distance) { return this.edges().filter((edge) => edge <= distance).length - 1; }

  // The bias of each method. Learned numbers are not known before training: here they fall with the slope, as far as the method can tell distances apart.
  bias(distance) {
    const { clip, window: keys } = this.state, slope = 2 ** -this.state.exponent;
    return { alibi: -slope * distance, t5: -slope * this.edges()[this.bucket(distance)], shaw: -slope * Math.min(distance, clip), window: distance < keys ? 0 : -Infinity };
  }

  values() {
    const { exponent, distance } = this.state, slope = 2 ** -exponent, bucket = this.bucket(distance), edges = this.edges();
    return { slope, effective: 1 / (1 - Math.exp(-slope)), within: Math.ceil(Math.log(20) / slope), bucket, first: edges[bucket], next: edges[bucket + 1] ?? null, bias: this.bias(distance) };
  }

  draw() {
    const { reach, distance, exponent, clip } = this.state, { effective, within, bucket, first, next, bias } = this.values();
    const rows = Array.from({ length: reach + 1 }, (_, r) => this.bias(r));
    for (const name of this.constructor.names) {
      const find = (selector) => this.find(`.plot.${name} ${selector}`), factor = Math.exp(bias[name]);
      // what is learned a class of distances is drawn as steps
      const points = rows.flatMap((row, r) => (name === "alibi" ? [[r / reach, Math.exp(row[name])]] : [[r / reach, Math.exp(row[name])], [Math.min(r + 1, reach) / reach, Math.exp(row[name])]]));
      find(".curve").setAttribute("d", line(points));
      find(".cursor").setAttribute("d", `M${distance / reach} 0V1`);
      find(".dot").setAttribute("d", `M${distance / reach} ${1 - factor}h0`);
      find("svg").setAttribute("aria-label", `Factor on the weight over the distance, ${name}: ${number(factor)} at ${distance}`);
    }
    const shown = exponent % 1 ? number(2 ** -exponent, 4) : `1/${whole(2 ** exponent)}`;
    this.show("exponent", shown);
    this.show("distance");
    const seen = next === null ? `${first} or more` : next - 1 === first ? first : `${first} to ${next - 1}`;
    const factors = Object.entries(bias).map(([name, value]) => `${{ alibi: "ALiBi", t5: "T5", shaw: "Shaw", window: "window" }[name]} ${number(Math.exp(value))}`).join(", ");
    this.say(`Slope ${shown}: 95 % of the weight is on the nearest ${whole(within)} keys, as if ${number(effective, 1)} shared it evenly. ` +
      `A key ${distance} back is multiplied by ${factors}. To T5 it is in bucket ${bucket} (distance ${seen}), to Shaw ${distance < clip ? `at ${distance}` : `at ${clip} or more`}.`);
  }
});
