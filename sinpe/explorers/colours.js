// The colours and dashes of hands and curves.

const HANDS = ["#2b7bba", "#d1601f", "#1a9070", "#a35fc4", "#c2478a", "#8a7a1f", "#777777"]; // sinpe.looks.COLOURS
const DASHES = ["", "7 4", "9 3 2 3", "2 3", "12 3 2 3 2 3 2 3", "4 4", "2 5"]; // so that colour is never the only cue
// After the last colour they begin again, mixed with the ink of the page.
const hue = (i) => (i < HANDS.length ? HANDS[i] : `color-mix(in oklab, ${HANDS[i % HANDS.length]} ${i < 2 * HANDS.length ? 55 : 30}%, currentColor)`);
