"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);

  // what needs this script is hidden without it
  for (const element of all("[data-script]")) element.hidden = false;

  // sorting: what has no number or text comes last, whichever way
  const key = (row, column) => row.cells[column].dataset.sort ?? row.cells[column].textContent.trim();

  function sort(header) {
    const table = header.closest("table");
    const numeric = header.dataset.kind === "number";
    const before = header.getAttribute("aria-sort");
    const first = header.dataset.first ?? (numeric ? "descending" : "ascending");
    const order = before ? (before === "ascending" ? "descending" : "ascending") : first;
    const sign = order === "ascending" ? 1 : -1;
    const rows = [...table.tBodies[0].rows];
    rows.sort((one, other) => {
      const [a, b] = [key(one, header.cellIndex), key(other, header.cellIndex)];
      if (a === "" || b === "") return (a === "") - (b === "");
      return sign * (numeric ? a - b : (a > b) - (a < b));
    });
    table.tBodies[0].append(...rows);
    for (const other of header.parentElement.cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", order);
  }
  for (const button of all("th button")) button.addEventListener("click", () => sort(button.closest("th")));

  // filtering: by model, provenance and challenge, all over the page
  const words = byId("filter-text"), provenance = byId("filter-provenance"), challenge = byId("filter-challenge");

  function filter() {
    const wanted = words.value.trim().toLowerCase();
    const modelHidden = (data) =>
      data.model !== undefined &&
      !(data.model.toLowerCase().includes(wanted) && data.provenance.includes(provenance.value));
    const challengeHidden = (data) =>
      challenge.value !== "" && data.challenge !== undefined && data.challenge !== challenge.value;
    for (const element of all("[data-model], [data-challenge]"))
      element.hidden = modelHidden(element.dataset) || challengeHidden(element.dataset);
    const rows = all("#board tbody tr");
    byId("filter-count").textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} models shown`;
  }
  if (words) {
    for (const control of [words, provenance, challenge]) control.addEventListener("input", filter);
    filter();
  }

  // choosing what a table shows: its columns one by one, and criteria by kind
  const kinds = {
    "all criteria": () => true,
    "critical ones": (row) => row.cells[0].querySelector("strong"),
    "those that differ": (row) => new Set([...row.cells].slice(1).map((cell) => cell.textContent)).size > 1,
  };

  function choose(table) {
    const heads = [...table.tHead.rows[0].cells], rows = [...table.rows], first = table.id === "board" ? 2 : 1;
    const boxes = heads.slice(first).map((head, n) => {
      const box = make("input", { type: "checkbox", checked: "" });
      box.addEventListener("input", () => {
        for (const row of rows) row.cells[first + n].classList.toggle("off", !box.checked);
      });
      return make("label", {}, box, head.textContent);
    });
    const criteria = rows.filter((row) => row.cells[0].querySelector("code"));
    if (criteria.length) {
      const select = make("select", {}, ...Object.keys(kinds).map((kind) => make("option", {}, kind)));
      select.addEventListener("input", () => {
        for (const row of criteria) row.classList.toggle("off", !kinds[select.value](row));
      });
      boxes.push(make("label", {}, "Rows ", select));
    }
    return make("fieldset", {}, make("legend", {}, table.caption.textContent), ...boxes);
  }
  for (const table of all("#board, table.matrix")) {
    const chooser = make("details", { class: "choose" }, make("summary", {}, "Choose what this table shows"));
    chooser.addEventListener("toggle", () => chooser.append(choose(table)), { once: true });
    table.parentElement.before(chooser);
  }

  // comparing two models, or two records of one
  const marks = JSON.parse(byId("marks").textContent);
  const [left, right] = [byId("compare-left"), byId("compare-right")];

  function make(name, attributes = {}, ...children) {
    const svg = ["svg", "rect", "line"].includes(name);
    const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  const isMark = Array.isArray;  // words say why there is none

  function bars(pair) {
    const svg = make("svg", { class: "bars", viewBox: "0 0 100 24", preserveAspectRatio: "none", "aria-hidden": "true" });
    for (const x of [0, 25, 50, 75, 100]) svg.append(make("line", { class: "grid", x1: x, x2: x, y1: 0, y2: 24 }));
    pair.forEach((mark, side) => {
      if (!isMark(mark)) return;
      const [point, low, high] = mark, y = 2 + 11 * side, middle = y + 4.5;
      svg.append(make("rect", { class: side ? "b" : "a", x: 0, y, width: point, height: 9 }));
      const whisker = (x1, x2, y1, y2) => svg.append(make("line", { class: "whisker", x1, x2, y1, y2 }));
      whisker(low, high, middle, middle);
      whisker(low, low, middle - 3, middle + 3);
      whisker(high, high, middle - 3, middle + 3);
    });
    return svg;
  }

  function markText(mark) {
    if (!isMark(mark)) return [mark];
    const [point, low, high, coverage] = mark;
    return [`${point} `, make("span", {}, `[${low}, ${high}],`), " ", make("span", {}, coverage)];
  }

  function difference([one, other]) {
    if (!isMark(one) || !isMark(other)) return [];
    const lead = Math.round(10 * (one[0] - other[0])) / 10;
    const apart = one[1] > other[2] || other[1] > one[2];
    const sure = apart || lead === 0 ? [] : [" ", make("small", {}, "intervals overlap")];
    return [`${lead > 0 ? "+" : ""}${lead}`, ...sure];
  }

  function compared(id, titles, names) {
    const of = names.map((name) => marks.marks[name][id]);
    const head = make("tr", {}, make("th", { scope: "col" }, titles.title), make("th", { scope: "col" }, "0 to 100"));
    names.forEach((name, n) =>
      head.append(make("th", { scope: "col" }, make("span", { class: n ? "second" : "first" }, name))),
    );
    head.append(make("th", { scope: "col" }, "Difference"));
    const body = titles.parts.map(([dimension, part], n) => {
      const pair = of.map((own) => own?.[n] ?? null);
      const cells = pair.map((mark, side) => {
        if (!of[side]) return make("td", { class: "open" }, "no record");
        const evidence = [names[side], id, dimension].filter(Boolean).join("/");
        const text = byId(evidence) ? [make("a", { href: `#${evidence}` }, ...markText(mark))] : markText(mark);
        return make("td", isMark(mark) ? {} : { class: "open" }, ...text);
      });
      return make("tr", {}, make("th", { scope: "row" }, part), make("td", {}, bars(pair)), ...cells,
        make("td", {}, ...difference(pair)));
    });
    const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
    return make("div", { class: "scroll pinned", tabindex: "0", role: "region", "aria-label": titles.title,
      "data-challenge": id }, table);
  }

  function compare() {
    const names = [left.value, right.value];
    // of a record that is no model's whole, only what the other has as well
    const whole = names.every((name) => name in marks.names);
    const has = (id) => names[whole ? "some" : "every"]((name) => marks.marks[name][id]);
    const shown = Object.entries(marks.challenges).filter(([id]) => has(id));
    byId("compared").replaceChildren(...shown.map(([id, titles]) => compared(id, titles, names)));
    if (words) filter();
  }
  if (left) {
    for (const control of [left, right]) control.addEventListener("input", compare);
    compare();
  }

  // dark and light: kept in memory only, as a page on disk has no storage of its own
  const theme = byId("theme");
  theme.addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    theme.textContent = dark ? "Dark" : "Light";
  });
  if (matchMedia("(prefers-color-scheme: dark)").matches) theme.textContent = "Light";

  // a link into something folded or filtered away opens it
  function reveal() {
    const target = byId(location.hash.slice(1));
    for (let element = target; element; element = element.parentElement) {
      if (element.tagName === "DETAILS") element.open = true;
      element.hidden = false;
      element.classList.remove("off");
    }
    target?.scrollIntoView();
  }
  addEventListener("hashchange", reveal);
  if (location.hash) reveal();

  // on paper everything is open
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = all("details:not([open])");
    for (const element of closed) element.open = true;
  });
  addEventListener("afterprint", () => {
    for (const element of closed) element.open = false;
  });
})();
