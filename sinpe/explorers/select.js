// Controls that offer a list.

const BASES = [10, 100, 1000, 10000, 100000, 1000000];
const options = (values, chosen, text = whole) =>
  [...new Set([...values, chosen])].sort((a, b) => a - b)
    .map((v) => `<option value="${v}"${v === chosen ? " selected" : ""}>${text(v)}</option>`).join("");
const choice = (name, label, inner) => `<label>${label} <select name="${name}">${inner}</select></label>`;
