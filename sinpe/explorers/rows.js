// <sinpe-rows>: which rows of a learned table are trained by texts whose lengths fall off exponentially.
define(class extends Explorer {
  static tag = "sinpe-rows";
  static shortest = 4;
  static style = PLOT + ".plot > svg { cursor: crosshair; }";

  check() {
    const { rows, longest, row } = this.state;
    if (longest > rows) throw new RangeError(`longest must be at most rows, which is ${rows}, got ${longest}`);
    if (row >= rows) throw new RangeError(`row must be less than rows, which is ${rows}, got ${row}`);
  }

  template() {
    const { rows, scale, longest, texts, row } = this.state;
    return `
      <div class="controls">
        ${choice("texts", "texts", options([1, 32, 250, 8000, 1000000], texts))}
        ${slider("scale", "Lengths beyond 4", 1, Math.max(40, scale), scale, 0.5)}
        ${slider("longest", "Longest text", 4, rows, longest)}
        ${slider("row", "Row", 0, rows - 1, row)}
      </div>
      ${legend(["share of texts that train the row", "chance that at least one does"])}
      ${plot("share, chance", "row of the table, counted from 0", curve("share", 0) + curve("chance", 1) + CURSOR)}`;
  }

  build() {
    for (const name of ["texts", "scale", "longest", "row"]) this.bind(name);
    const { rows } = this.state, svg = this.find(".plot svg"), quarters = [0, 0.25, 0.5, 0.75, 1];
    ticks(this.find(".plot"), quarters.map((part) => [part, Math.round(part * rows)]), quarters.map((part) => [part, part]));
    drag(svg, (event) => {
      this.state.row = cellUnder(event, svg, rows, 1)[0];
      this.draw();
    });
  }

  // P(length > row): lengths are 4 and a rounded-down exponential number, cut at the longest. And the chance that one of the texts is so long.
  values(row = this.state.row) {
    const { scale, longest, texts } = this.state, { shortest } = this.constructor;
    const share = row < longest ? Math.exp(-Math.max(row - shortest + 1, 0) / scale) : 0;
    return { share, expected: texts * share, chance: share === 1 ? 1 : -Math.expm1(texts * Math.log1p(-share)) };
  }

  draw() {
    const { rows, scale, longest, texts, row } = this.state, { share, expected, chance } = this.values(), all = Array.from({ length: rows }, (_, r) => this.values(r));
    // one step a row
    for (const name of ["share", "chance"]) this.find(`.${name}`).setAttribute("d", line(all.flatMap((each, r) => [[r / rows, each[name]], [(r + 1) / rows, each[name]]])));
    const x = (row + 0.5) / rows;
    this.find(".cursor").setAttribute("d", `M${x} 0V1`);
    this.find(".dot").setAttribute("d", `M${x} ${1 - share}h0`);
    this.find(".plot svg").setAttribute("aria-label", `Share of texts that train each of ${rows} rows, and the chance that at least one of ${whole(texts)} does`);
    this.show("scale", number(scale, 1));
    for (const name of ["longest", "row"]) this.show(name);
    const seen = share ? `${number(100 * share, share < 0.01 ? 3 : 1)} % of texts reach it, of ${whole(texts)} about ${count(expected)}. The chance that none does is ${number(1 - chance)}.` : "no text reaches it, however many are read: it keeps its random start.";
    this.say(`Row ${row}, texts up to ${longest} tokens: ${seen}`);
  }
});
