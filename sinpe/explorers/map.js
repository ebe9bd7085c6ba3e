// For explorers that show values as colours, and let a pointer choose.

// The stops of matplotlib's RdBu_r: -1 is blue, 0 white, +1 red, as in the course's other heat maps.
const STOPS = "053061 2166ac 4393c3 92c5de d1e5f0 f7f7f7 fddbc7 f4a582 d6604d b2182b 67001f"
  .split(" ").map((hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));
const colour = (value) => {
  const at = (value + 1) * 5, i = Math.min(Math.floor(at), 9);
  return STOPS[i].map((low, channel) => low + (at - i) * (STOPS[i + 1][channel] - low));
};

// Paint rows of values in [-1, 1] as one pixel each; CSS stretches the canvas.
const paint = (canvas, rows) => {
  canvas.width = rows[0].length;
  canvas.height = rows.length;
  const image = new ImageData(canvas.width, canvas.height);
  rows.flat().forEach((value, i) => image.data.set([...colour(value), 255], 4 * i));
  canvas.getContext("2d").putImageData(image, 0, 0);
};

const MAP = `
  canvas { display: block; width: 100%; image-rendering: pixelated; }
  .map { position: relative; cursor: crosshair; touch-action: pan-y; user-select: none; }
  .mark { position: absolute; pointer-events: none; border: 2px solid #111; outline: 1px solid #fff; }
`;
