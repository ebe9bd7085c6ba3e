// <sinpe-rounding>: how far a code is off where one step of its calculation, or every step, is rounded to a short type.
{
// Significant bits, least exponent and largest number.
const TYPES = { float32: [24, -126, 3.4028234663852886e38], float16: [11, -14, 65504], bfloat16: [8, -126, 3.3895313892515355e38] };
const STEPS = ["every step", "the frequency alone", "the angle alone", "the finished code alone"];
const [LOW, HIGH] = [-10, 0.5]; // powers of ten on the axis of errors; that of positions goes from 1 to 2^20

define(class extends Explorer {
  static tag = "sinpe-rounding";
  static style = PLOT + ".plot > svg { height: 16rem; cursor: crosshair; }";

  template() {
    const { dModel, type, position } = this.state;
    return `
      <div class="controls">
        ${choice("type", "rounded to", Object.keys(TYPES).map((name) => `<option${name === type ? " selected" : ""}>${name}</option>`).join(""))}
        ${choice("dModel", "width", options([4, 16, 64, 128], dModel, String))}
        ${slider("power", "Position", 0, 20, Math.log2(Math.max(position, 1)), 0.05)}
      </div>
      ${legend(STEPS)}
      ${plot("largest error of a code", "position", STEPS.map((_, i) => curve(`error error${i}`, i)).join("") + CURSOR)}`;
  }

  build() {
    for (const name of ["type", "dModel"]) this.bind(name);
    this.bind("power", () => (this.state.position = Math.round(2 ** this.state.power)));
    const svg = this.find(".plot svg"), power = (at) => [at, `10<sup>${number(LOW + at * (HIGH - LOW), 0)}</sup>`];
    drag(svg, (event) => {
      this.state.position = Math.round(2 ** (cellUnder(event, svg, 401, 1)[0] / 20));
      this.draw();
    });
    ticks(this.find(".plot"), [0, 6, 12, 20].map((p) => [p / 20, whole(2 ** p)]), [0, 2, 4, 6, 8, 10].map((p) => power(p / (HIGH - LOW))));
    this.drawn = null;
  }

  // The nearest number of the type, of two the even one; infinite beyond its largest.
  round(x) {
    const [bits, least, most] = TYPES[this.state.type], gap = 2 ** (Math.max(Math.floor(Math.log2(Math.abs(x))), least) - bits + 1), shift = 1.5 * 2 ** 52;
    const near = (x / gap + shift - shift) * gap;
    return Math.abs(near) <= most ? near : Math.sign(x) * Infinity;
  }

  // The angles of a position, exact (as far as float64 is) and with one step or all of them rounded.
  angles(position) {
    return inverseFrequencies(this.state.dModel, 10000).map((w) => {
      const short = this.round(w);
      return { exact: position * w, rounded: [this.round(this.round(position) * short), position * short, this.round(position * w), position * w] };
    });
  }

  // The largest error of a sine or cosine, for each of the steps, of sixteen positions in a row, since a single one may be lucky; infinite where there is no number.
  errors(position) {
    const most = STEPS.map(() => 0);
    for (const { exact, rounded } of Array.from({ length: 16 }, (_, p) => this.angles(position + p)).flat()) {
      for (const wave of [Math.sin, Math.cos]) {
        rounded.forEach((angle, i) => {
          const code = wave(angle), miss = Math.abs((i % 3 ? code : this.round(code)) - wave(exact));
          most[i] = Math.max(most[i], Number.isNaN(miss) ? Infinity : miss);
        });
      }
    }
    return most;
  }

  values() {
    return { errors: this.errors(this.state.position), angles: this.angles(this.state.position) };
  }

  draw() {
    const { type, dModel, position } = this.state, y = (error) => (Math.log10(Math.max(error, 10 ** LOW)) - LOW) / (HIGH - LOW), picture = [type, dModel].join();
    if (picture !== this.drawn) {
      const found = Array.from({ length: 41 }, (_, k) => this.errors(Math.round(2 ** (k / 2))));
      STEPS.forEach((_, i) => this.find(`.error${i}`).setAttribute("d", line(found.map((row, k) => [k / 40, row[i]]).filter(([, error]) => error < Infinity).map(([x, error]) => [x, y(error)]))));
      this.find(".plot svg").setAttribute("aria-label", `Largest error of a code over positions from 1 to a million, width ${dModel}, for four ways to round to ${type}`);
      this.drawn = picture;
    }
    const { errors, angles } = this.values(), told = errors.map((error, i) => `${STEPS[i]} ${error === Infinity ? "no number" : error.toExponential(0)}`), at = Math.log2(Math.max(position, 1)) / 20;
    this.state.power = at * 20;
    this.show("power", whole(position));
    this.find(".cursor").setAttribute("d", `M${at} 0V1`);
    this.find(".dot").setAttribute("d", errors[0] < Infinity ? `M${at} ${1 - y(errors[0])}h0` : "");
    const { exact, rounded } = angles.at(1);
    this.say(`Positions ${whole(position)} to ${whole(position + 15)}, rounded to ${type}: ${told.join(", ")}. At ${whole(position)} the angle of pair 1 is ${number(exact, 4)}; with every step in ${type} it is ${Number.isFinite(rounded[0]) ? number(rounded[0], 4) : "no number"}.`);
  }
});
}
