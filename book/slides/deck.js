// Starts reveal.js. Keys beside its own (press ?): D switches between light and dark, S opens the speaker's window.
const root = document.documentElement;
const dark = (on) => (on ? (root.dataset.theme = "dark") : delete root.dataset.theme);
dark(new URLSearchParams(location.search).has("dark"));

// The element that has the focus, also inside an interactive figure.
const focused = () => {
  let element = document.activeElement;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  return element;
};

Reveal.initialize({
  width: 1280, height: 720, margin: 0, minScale: 0.1, maxScale: 4,
  center: false, display: "flex", transition: "none", hash: true, slideNumber: "c/t", controlsTutorial: false,
  pdfMaxPagesPerSlide: 1, pdfSeparateFragments: false, scrollActivationWidth: null, mouseWheel: false,
  // arrows move a slider that has the focus, and space presses a button: then they do not change the slide
  keyboardCondition: (event) =>
    !(focused()?.matches("input, select") || (focused()?.matches("button") && [" ", "Enter"].includes(event.key))),
  plugins: [RevealNotes],
}).then(() => {
  Reveal.addKeyBinding({ keyCode: 68, key: "D", description: "Light or dark" }, () => dark(!root.dataset.theme));
});
