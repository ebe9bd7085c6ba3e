// The search page: SEARCH holds the sections of all pages (book/_ext/site_search.py). Rare words count more than common ones, words of a title more than
// those of a text, and sections that have all of them most.
(() => {
  const STOP = new Set("a an and are be both by can do does for from how i in is it its of on or the there to vs versus what when which who why with".split(" "));
  const TITLE = 6, PAGE = 4, ABOUT = 3, FOUND = 40;

  const stem = (word) => word.length < 4 || /\d/.test(word) ? word : word
    .replace(/(?:isations?|izations?)$/, "ize").replace(/(?:ations?|ating|ates?|ated)$/, "at").replace(/(?:ing|ies|es|ed|ions?|s|e|al)$/, "");
  const tokens = (text) => text
    .normalize("NFKC").toLowerCase()
    .replace(/(\d)[\s,](?=\d{3}\b)/g, "$1") // 10 000 and 10,000
    .replace(/√/g, " √ ").replace(/_model\b/g, "")
    .match(/√|[\p{L}\p{N}]+/gu)?.map(stem) ?? [];

  const same = new Map();
  for (const group of SEARCH.same) for (const word of group) same.set(tokens(word).join(" "), group.map((other) => tokens(other)).filter((t) => t.length === 1).flat());

  const entries = SEARCH.pages.flatMap(([url, page, sections, about]) => sections.map(([anchor, title, text], index) => ({
    url, page, anchor, title: title || page, text, top: index === 0,
    inTitle: new Set(tokens(title)), inPage: new Set(tokens(page)), inAbout: new Set(tokens(about)), count: counts(tokens(text)),
  })));
  function counts(words) {
    const found = new Map();
    for (const word of words) found.set(word, (found.get(word) ?? 0) + 1);
    return found;
  }
  const has = (entry, word) => entry.count.has(word) || entry.inTitle.has(word) || entry.inPage.has(word) || entry.inAbout.has(word);
  const rarity = new Map();
  function rare(word) {
    if (!rarity.has(word)) rarity.set(word, Math.log(1 + entries.length / (1 + entries.filter((entry) => has(entry, word)).length)));
    return rarity.get(word);
  }

  function score(entry, query) {
    let sum = 0, covered = 0;
    for (const word of query) {
      let best = 0;
      for (const form of new Set([word, ...(same.get(word) ?? [])])) {
        const times = entry.count.get(form) ?? 0, own = form === word ? 1 : 0.7;
        const value = (entry.inTitle.has(form) ? TITLE : 0) + (entry.inPage.has(form) ? PAGE * (entry.top ? 1.5 : 0.5) : 0)
          + (entry.inAbout.has(form) ? ABOUT * (entry.top ? 2 : 0.5) : 0) + 2 * times / (times + 1.5);
        best = Math.max(best, own * value * rare(word));
      }
      sum += best;
      covered += best > 0;
    }
    return sum * (covered / query.length) ** 2 * (entry.url.includes("/api") ? 0.6 : 1);
  }

  function find(text) {
    const all = tokens(text), query = [...new Set(all.filter((word) => !STOP.has(word)))];
    if (!query.length) query.push(...new Set(all));
    if (!query.length) return [];
    return entries.map((entry) => [score(entry, query), entry]).filter(([value]) => value > 0)
      .sort((one, other) => other[0] - one[0]).slice(0, FOUND).map(([value, entry]) => ({ ...entry, value, query }));
  }

  // The part of a text with most of the words, which are marked.
  function snippet({ text, query }) {
    const wanted = new Set(query.flatMap((word) => [word, ...(same.get(word) ?? [])]));
    const words = text.split(" "), hit = words.map((word) => tokens(word).some((token) => wanted.has(token)));
    const length = 32;
    let best = 0, start = 0;
    for (let from = 0; from < Math.max(1, words.length - length); from += 4) {
      const value = hit.slice(from, from + length).filter(Boolean).length;
      if (value > best) [best, start] = [value, from];
    }
    const shown = document.createElement("p");
    if (start) shown.append("… ");
    words.slice(start, start + length).forEach((word, index) => {
      if (hit[start + index]) shown.append(Object.assign(document.createElement("mark"), { textContent: word }), " ");
      else shown.append(`${word} `);
    });
    if (start + length < words.length) shown.append("…");
    return shown;
  }

  function show(text) {
    const place = document.getElementById("search-results"), found = find(text);
    const said = document.createElement("p"), list = document.createElement("ol");
    said.setAttribute("role", "status");
    said.textContent = !text.trim() ? "" : found.length ? `${found.length === FOUND ? "The first " : ""}${found.length} section${found.length > 1 ? "s" : ""}` : "Nothing found. Try another word, or look into the glossary.";
    for (const entry of found) {
      const item = document.createElement("li"), link = document.createElement("a");
      link.href = `${document.documentElement.dataset.content_root}${entry.url}${entry.anchor && `#${entry.anchor}`}`;
      link.textContent = entry.title;
      item.append(link);
      if (entry.page && entry.page !== entry.title) item.append(Object.assign(document.createElement("span"), { className: "where", textContent: entry.page }));
      if (entry.text) item.append(snippet(entry));
      list.append(item);
    }
    place.replaceChildren(said, ...(found.length ? [list] : []));
  }

  window.siteSearch = find;
  if (typeof document === "undefined") return;
  const field = document.querySelector(".bd-search-container input[name=q]");
  field.value = new URLSearchParams(location.search).get("q") ?? "";
  show(field.value);
  let waiting;
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => show(field.value), 150);
  });
})();
