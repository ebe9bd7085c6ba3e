// For explorers that let a pointer choose.

// The column and the row of `element` under a pointer event.
const cellUnder = (event, element, columns, rows) => {
  const box = element.getBoundingClientRect();
  const at = (offset, size, cells) => Math.min(Math.max(Math.floor((offset / size) * cells), 0), cells - 1);
  return [at(event.clientX - box.left, box.width, columns), at(event.clientY - box.top, box.height, rows)];
};
// Call choose where a pointer goes down on the element, and while it is dragged.
const drag = (element, choose) => {
  element.addEventListener("pointerdown", (event) => {
    element.setPointerCapture(event.pointerId);
    choose(event);
  });
  element.addEventListener("pointermove", (event) => event.buttons && choose(event));
};
