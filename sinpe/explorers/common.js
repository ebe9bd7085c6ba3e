// Shared by the explorers: controls, and a base element that checks its attributes before it draws.
// ATTRIBUTES, {tag: {name: {default, kind, low, high}}}, is put in front of this file by sinpe/explorers/__init__.py.

const number = (value, digits = 3) => value.toFixed(digits).replace("-", "−").replace(/^−(0\.?0*)$/, "$1");
const whole = (value) => value.toLocaleString("en");
const count = (value) => (value < 100 ? value.toPrecision(3) : whole(Math.round(value)));

const slider = (name, label, low, high, value, step = 1) => `
  <span class="slider"><label>${label} <input type="range" name="${name}" min="${low}" max="${high}" step="${step}" value="${value}"></label><output class="${name}" aria-live="off"></output></span>`;

const KINDS = {}; // more kinds of attributes: {kind: (name, text, rule) => value}
const readAttribute = (name, text, rule) => {
  text ??= String(rule.default);
  if (KINDS[rule.kind]) return KINDS[rule.kind](name, text, rule);
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
  :host { display: block; position: relative; container-type: inline-size; margin: 1rem 0; font-size: .9rem; line-height: 1.4; color: inherit; }
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
  .axis { font-size: .8rem; text-align: right; }
  p { margin: .5rem 0 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
  sup { font-size: 11px; line-height: 0; }
  .status { position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
  .problem { border-left: 4px solid #d1601f; padding: .4rem .8rem; }
`;

class Explorer extends HTMLElement {
  connectedCallback() {
    if (!this.shadowRoot) this.attachShadow({ mode: "open" });
    this.start();
  }

  disconnectedCallback() {
    if (this.state) this.pause();
  }

  attributeChangedCallback() {
    if (this.shadowRoot && this.isConnected) this.start();
  }

  // Read the attributes into this.state ("d-model" becomes dModel) and build the figure, or say what is wrong with them.
  start() {
    cancelAnimationFrame(this.frame);
    this.frame = null;
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
    body.innerHTML = `${this.template()}<p class="read" aria-hidden="true"></p><p class="status" role="status"></p>`;
    // what moves a control turns no slide and moves to no other cell
    body.addEventListener("keydown", (event) => /^(Arrow|Home|End|Page| )/.test(event.key) && event.stopPropagation());
    this.build();
    this.draw();
    this.announce();
  }

  check() {}
  pause() {} // for those that play

  find(selector) {
    return this.shadowRoot.querySelector(selector);
  }

  // Let a control change this.state[name] and redraw; `first` may adjust what depends on it.
  bind(name, first = () => {}) {
    const control = this.find(`[name="${name}"]`);
    control.addEventListener("input", () => {
      this.pause();
      this.state[name] = control.type === "checkbox" ? control.checked : isNaN(control.value) ? control.value : Number(control.value);
      first();
      this.draw();
    });
  }

  // Let a slider and the text beside it show this.state[name]; limits may be {min, max}.
  show(name, text = number(this.state[name], 0), limits = {}) {
    const control = Object.assign(this.find(`[name="${name}"]`), limits, { value: this.state[name] });
    this.find(`output.${name}`).textContent = text;
    if (text === control.value) control.removeAttribute("aria-valuetext");
    else if (!this.frame) control.setAttribute("aria-valuetext", text);
  }

  // The sentence below the figure. It is read aloud when nothing has moved for half a second.
  say(text) {
    this.find(".read").textContent = text;
    clearTimeout(this.wait);
    if (!this.frame) this.wait = setTimeout(() => this.announce(), 500);
  }

  announce() {
    const status = this.find(".status"), text = this.find(".read")?.textContent;
    if (status && status.textContent !== text) status.textContent = text;
  }
}

const define = (element) => {
  if (customElements.get(element.tag)) return;
  element.observedAttributes = Object.keys(ATTRIBUTES[element.tag]);
  customElements.define(element.tag, element);
};
