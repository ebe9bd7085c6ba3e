// Shared by the explorers: the formula, the colours, and a base element that checks its attributes before it draws.
// ATTRIBUTES, {tag: {name: {default, kind, low, high}}}, is put in front of this file by sinpe/explorers/__init__.py.

const inverseFrequencies = (dModel, base) => Array.from({ length: dModel / 2 }, (_, i) => base ** ((-2 * i) / dModel));

const encode = (position, dModel, base, layout = "interleaved") => {
  const angles = inverseFrequencies(dModel, base).map((w) => position * w);
  return layout === "interleaved"
    ? angles.flatMap((angle) => [Math.sin(angle), Math.cos(angle)])
    : [...angles.map(Math.sin), ...angles.map(Math.cos)];
};

// The stops of matplotlib's RdBu_r: -1 is blue, 0 white, +1 red, as in the course's other heat maps.
const STOPS = "053061 2166ac 4393c3 92c5de d1e5f0 f7f7f7 fddbc7 f4a582 d6604d b2182b 67001f"
  .split(" ").map((hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));
const colour = (value) => {
  const at = (value + 1) * 5, i = Math.min(Math.floor(at), 9);
  return STOPS[i].map((low, channel) => low + (at - i) * (STOPS[i + 1][channel] - low));
};

const HANDS = ["#2b7bba", "#d1601f", "#1a9070", "#a35fc4", "#c2478a", "#8a7a1f", "#777777"]; // sinpe.figures.COLOURS
const REDUCED_MOTION = matchMedia("(prefers-reduced-motion: reduce)");

// Paint rows of values in [-1, 1] as one pixel each; CSS stretches the canvas.
const paint = (canvas, rows) => {
  canvas.width = rows[0].length;
  canvas.height = rows.length;
  const image = new ImageData(canvas.width, canvas.height);
  rows.flat().forEach((value, i) => image.data.set([...colour(value), 255], 4 * i));
  canvas.getContext("2d").putImageData(image, 0, 0);
};

const number = (value, digits = 3) => value.toFixed(digits).replace("-", "−").replace(/^−(0\.?0*)$/, "$1");
const whole = (value) => value.toLocaleString("en");
const count = (value) => (value < 100 ? value.toPrecision(3) : whole(Math.round(value)));

const BASES = [10, 100, 1000, 10000, 100000, 1000000];
const options = (values, chosen, text = whole) =>
  [...new Set([...values, chosen])].sort((a, b) => a - b)
    .map((v) => `<option value="${v}"${v === chosen ? " selected" : ""}>${text(v)}</option>`).join("");

const slider = (name, label, low, high, value, step = 1) => `
  <span class="slider"><label>${label} <input type="range" name="${name}" min="${low}" max="${high}" step="${step}" value="${value}"></label><output class="${name}" aria-live="off"></output></span>`;
const choice = (name, label, inner) => `<label>${label} <select name="${name}">${inner}</select></label>`;

// The column and the row of `element` under a pointer event.
const cellUnder = (event, element, columns, rows) => {
  const box = element.getBoundingClientRect();
  const at = (offset, size, cells) => Math.min(Math.max(Math.floor((offset / size) * cells), 0), cells - 1);
  return [at(event.clientX - box.left, box.width, columns), at(event.clientY - box.top, box.height, rows)];
};

const readAttribute = (name, text, rule) => {
  if (text === null) return rule.default;
  if (rule.kind === "choice") {
    if (!rule.choices.includes(text)) throw new RangeError(`${name} must be ${rule.choices.join(" or ")}, got ${text}`);
    return text;
  }
  const value = text.trim() === "" ? NaN : Number(text);
  const right = value >= rule.low && value <= rule.high && (rule.kind === "real" || Number.isInteger(value)) && !(rule.kind === "even" && value % 2);
  const wanted = { whole: "a whole number", even: "an even number", real: "a number" }[rule.kind];
  if (!right) throw new RangeError(`${name} must be ${wanted} from ${whole(rule.low)} to ${whole(rule.high)}, got ${text || "nothing"}`);
  return value;
};

const STYLE = `
  :host { display: block; margin: 1rem 0; font-size: .9rem; line-height: 1.4; color: inherit; }
  * { box-sizing: border-box; }
  .controls { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; align-items: center; margin-bottom: .6rem; }
  .slider, label { display: flex; gap: .5rem; align-items: center; }
  .slider { flex: 1 1 16rem; }
  .slider label { flex: 1; }
  input[type="range"] { flex: 1 1 5rem; min-width: 5rem; width: 100%; height: 1.6rem; margin: 0; accent-color: #2b7bba; }
  output { min-width: 3.2em; font-variant-numeric: tabular-nums; }
  button, select { font: inherit; color: inherit; background: transparent; border: 1px solid currentColor; border-radius: 4px; padding: .2rem .6rem; min-height: 1.8rem; }
  option { color: #111; background: #fff; }
  button { min-width: 4.6em; cursor: pointer; }
  button:focus-visible, select:focus-visible, input:focus-visible { outline: 2px solid #2b7bba; outline-offset: 2px; }
  canvas { display: block; width: 100%; image-rendering: pixelated; }
  .map { position: relative; cursor: crosshair; touch-action: pan-y; }
  .mark { position: absolute; pointer-events: none; border: 2px solid #111; outline: 1px solid #fff; }
  .axis { font-size: .8rem; text-align: right; }
  p { margin: .5rem 0 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
  .problem { border-left: 4px solid #d1601f; padding: .4rem .8rem; }
`;

class Explorer extends HTMLElement {
  connectedCallback() {
    if (!this.shadowRoot) this.attachShadow({ mode: "open" });
    this.start();
  }

  disconnectedCallback() {
    this.pause?.();
  }

  attributeChangedCallback() {
    if (this.shadowRoot && this.isConnected) this.start();
  }

  // Read the attributes into this.state ("d-model" becomes dModel) and build the figure, or say what is wrong with them.
  start() {
    this.pause?.();
    const style = Object.assign(document.createElement("style"), { textContent: STYLE + (this.constructor.style ?? "") });
    const body = document.createElement("div");
    this.shadowRoot.replaceChildren(style, body);
    try {
      this.state = {};
      for (const [name, rule] of Object.entries(ATTRIBUTES[this.localName])) {
        this.state[name.replace(/-(.)/, (_, letter) => letter.toUpperCase())] = readAttribute(name, this.getAttribute(name), rule);
      }
      this.check();
    } catch (problem) {
      if (!(problem instanceof RangeError)) throw problem;
      this.state = null;
      body.className = "problem";
      body.textContent = `This figure cannot be drawn: ${problem.message}.`;
      return;
    }
    body.innerHTML = this.template();
    this.build();
    this.draw();
  }

  check() {}

  find(selector) {
    return this.shadowRoot.querySelector(selector);
  }

  // Let a control change this.state[name] and redraw; `first` may adjust what depends on it.
  bind(name, first = () => {}) {
    const control = this.find(`[name="${name}"]`);
    control.addEventListener("input", () => {
      this.pause?.();
      this.state[name] = control.type === "range" || !isNaN(control.value) ? Number(control.value) : control.value;
      first();
      this.draw();
    });
  }
}

const define = (element) => {
  if (customElements.get(element.tag)) return;
  element.observedAttributes = Object.keys(ATTRIBUTES[element.tag]);
  customElements.define(element.tag, element);
};
