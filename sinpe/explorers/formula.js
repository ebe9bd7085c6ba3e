// The formula.

const inverseFrequencies = (dModel, base) => Array.from({ length: dModel / 2 }, (_, i) => base ** ((-2 * i) / dModel));

const encode = (position, dModel, base, layout = "interleaved") => {
  const angles = inverseFrequencies(dModel, base).map((w) => position * w);
  return layout === "interleaved"
    ? angles.flatMap((angle) => [Math.sin(angle), Math.cos(angle)])
    : [...angles.map(Math.sin), ...angles.map(Math.cos)];
};
