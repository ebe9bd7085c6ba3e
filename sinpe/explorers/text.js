// Attributes that are words, or data.

KINDS.words = (name, text, { low, high, longest }) => {
  const words = text.split(/\s+/).filter(Boolean);
  const right = words.length >= low && words.length <= high && words.every((word) => word.length <= longest);
  if (!right) throw new RangeError(`${name} must be ${low} to ${high} words of at most ${longest} letters, got ${text || "nothing"}`);
  return words;
};
KINDS.data = (name, text) => {
  if (!text.startsWith("{")) throw new RangeError(`${name} must be what sinpe.explorers writes there, got ${text || "nothing"}`);
  return JSON.parse(text);
};
