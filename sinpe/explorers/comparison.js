// <sinpe-comparison>: test loss over the length that is read, of the methods and lengths one chooses; the numbers come with the element.
define(class extends Explorer {
  static tag = "sinpe-comparison";
  static style = PLOT + `
    fieldset { border: 0; padding: 0; margin: 0 0 .4rem; min-width: 0; display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; }
    legend { float: left; padding: 0; margin-right: 1.1rem; }
    .plot > svg { height: 17rem; }
    .unknown { opacity: .55; }
    fieldset label { min-height: 1.7rem; }
  `;

  check() {
    const { data, methods, length } = this.state, lost = methods.find((method) => !data.methods.includes(method));
    if (lost) throw new RangeError(`methods must be some of ${data.methods.join(", ")}, got ${lost}`);
    if (!data.lengths.includes(length)) throw new RangeError(`length must be one of ${data.lengths.join(", ")}, got ${length}`);
  }

  template() {
    const { data, methods, length } = this.state, steps = Object.keys(data.runs), readings = Object.keys(data.runs[steps[0]]);
    const named = (names, chosen) => names.map((name) => `<option value="${name}"${String(name) === String(chosen) ? " selected" : ""}>${name}</option>`).join("");
    return `
      <div class="controls">
        ${choice("length", "compare at", named(data.lengths, length))}
        ${choice("reach", "lengths up to", named(data.lengths.slice(1), data.lengths.at(-1)))}
        ${choice("steps", "training steps", named(steps, this.state.steps))}
        ${choice("reading", "read in", named(readings, readings[0]))}
      </div>
      <fieldset><legend>methods</legend>${data.methods.map((method) => `<label><input type="checkbox" name="${method}"${methods.includes(method) ? " checked" : ""}> ${sample(method)} ${method}</label>`).join("")}</fieldset>
      ${plot("test loss (nats a character)", "characters read at a time", data.methods.map((method, i) => `<path class="band band${i}" stroke="none" style="fill:${look(method)[0]}" opacity=".18"/>${curve(`loss loss${i}`, method, 2.2)}`).join("") + '<path class="cursor" stroke-width="1" stroke-dasharray="3 3"/>')}`;
  }

  build() {
    const { data } = this.state;
    this.state.reach = data.lengths.at(-1);
    this.state.reading = Object.keys(data.runs[this.state.steps])[0];
    for (const name of ["length", "reach", "steps", "reading"]) this.bind(name);
    for (const method of data.methods) {
      this.bind(method, () => (this.state.methods = data.methods.filter((name) => (name === method ? this.state[method] : this.state.methods.includes(name)))));
    }
  }

  // [method, [mean, low, high]] of those chosen at one length, the lowest loss first; null where nothing was measured.
  values(length = this.state.length) {
    const { data, methods, steps, reading } = this.state, at = data.lengths.indexOf(length);
    const found = methods.map((method) => [method, data.runs[steps][reading][method]?.[at] ?? null]);
    return found.sort(([, a], [, b]) => (a?.[0] ?? Infinity) - (b?.[0] ?? Infinity));
  }

  draw() {
    const { data, methods, reach, length, steps, reading } = this.state, lengths = data.lengths.filter((each) => each <= reach);
    const every = lengths.flatMap((each) => this.values(each).filter(([, row]) => row).map(([, row]) => row));
    const low = Math.min(1.4, ...every.map((row) => row[1])), high = Math.max(low + 0.1, ...every.map((row) => row[2]));
    const x = (each) => Math.log2(each / lengths[0]) / Math.log2(reach / lengths[0]), y = (loss) => (loss - low) / (high - low);
    data.methods.forEach((method, i) => {
      const rows = methods.includes(method) ? lengths.map((each, at) => [x(each), data.runs[steps][reading][method]?.[at]]).filter(([, row]) => row) : [];
      this.find(`.loss${i}`).setAttribute("d", line(rows.map(([at, row]) => [at, y(row[0])])) + (rows.length === 1 ? "h.012" : ""));
      this.find(`.band${i}`).setAttribute("d", line([...rows.map(([at, row]) => [at, y(row[2])]), ...rows.reverse().map(([at, row]) => [at, y(row[1])])]));
    });
    const step = [0.05, 0.1, 0.2, 0.5].find((each) => (high - low) / each <= 6) ?? 1, levels = [];
    for (let level = Math.ceil(low / step); level * step <= high; level++) levels.push([y(level * step), number(level * step, step < 0.1 ? 2 : 1)]);
    ticks(this.find(".plot"), lengths.map((each) => [x(each), each]), levels);
    this.find(".cursor").setAttribute("d", length <= reach ? `M${x(length)} 0V1` : "");
    const ranked = this.values(), known = ranked.filter(([, row]) => row), rest = ranked.filter(([, row]) => !row).map(([method]) => method);
    const told = known.map(([method, row]) => `${method} ${number(row[0])} ± ${number((row[2] - row[1]) / 2)}`).join(", ");
    this.find(".plot svg").setAttribute("aria-label", `Test loss over ${lengths.join(", ")} characters of ${methods.join(", ") || "no method"}; lower is better`);
    this.say(`At ${length} characters, ${steps} steps, in ${reading}: ${told || "nothing chosen was measured"}.` + (rest.length ? ` Not defined or not recorded there: ${rest.join(", ")}.` : ""));
  }
});
