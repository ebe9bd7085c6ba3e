// MathJax without a browser: set(tex, display) -> HTML. SOURCES, its parts, is defined before this file runs; FONTS is where the fonts lie, seen
// from the style sheet.
var setTimeout = (task) => task() ?? 0, clearTimeout = () => {};
var MathJax = {
  loader: {
    paths: { mathjax: "" },
    load: ["adaptors/liteDOM", "input/tex-full", "output/chtml", "a11y/assistive-mml"],
    require: (path) => (0, eval)(SOURCES[path.replace(/^\/|\.js$/g, "")]),
    failed: (error) => { throw error; },
  },
  tex: { packages: { "[-]": ["noundefined", "noerrors"] }, formatError: (jax, error) => { throw error; } },
  chtml: { fontURL: FONTS, matchFontHeight: false },
  startup: { typeset: false },
};
(0, eval)(SOURCES.startup);

// A long formula within a line may be broken before a relation and after a comma of its outermost row. What is wider in one piece than fits a phone
// gets a line of its own there.
const LONG = 6, WIDEST = 16; // em

function set(tex, display) {
  const { document: page, adaptor } = MathJax.startup;
  const item = new page.options.MathItem(tex, page.inputJax[0], display);
  item.start.node = item.end.node = adaptor.body(page.document);
  item.setMetrics(16, 8, 80 * 16, 1e6, 1);
  try {
    item.convert(page);
  } catch (error) {
    throw Error(error.message); // what MathJax throws has no name
  }
  const box = item.typesetRoot;
  adaptor.removeAttribute(box, "style"); // site.css says it once
  for (const spoken of adaptor.tags(box, "mjx-assistive-mml")) adaptor.removeAttribute(spoken, "unselectable");
  if (!display && divide(page, adaptor, item) > WIDEST) adaptor.addClass(box, "wide");
  return adaptor.outerHTML(box);
}

// Puts the places into a formula where a line may end; returns the width of the widest piece between them, in em.
function divide(page, adaptor, item) {
  page.outputJax.nodeMap = new Map(); // it holds what is measured, and is gone once a formula is drawn
  const row = page.outputJax.factory.wrap(item.root).childNodes[0].childNodes;
  const drawn = [...adaptor.childNodes(adaptor.firstChild(item.typesetRoot))];
  const widths = row.map((part) => part.getOuterBBox()).map(({ w, L, R }) => w + L + R);
  const total = widths.reduce((sum, width) => sum + width, 0);
  if (total < LONG || drawn.length !== row.length) return total;
  let piece = 0, widest = 0;
  row.forEach(({ node }, index) => {
    const before = row[index - 1]?.node;
    if (before && ((node.isKind("mo") && node.texClass === 3) || (before.isKind("mo") && before.texClass === 6))) {
      adaptor.insert(adaptor.node("mjx-break", {}, [adaptor.text("\u200b")]), drawn[index]);
      piece = 0;
    }
    widest = Math.max(widest, piece += widths[index]);
  });
  return widest;
}

function styles() {
  return MathJax.startup.adaptor.textContent(MathJax.chtmlStylesheet());
}
