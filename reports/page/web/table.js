// Cells that start with a number sort as numbers; – goes last.
function value(cell) {
  const text = cell.textContent.trim();
  if (text.startsWith("∞")) return Infinity;
  const match = text.replaceAll(",", "").replace("−", "-").match(/^[-+]?\d+(\.\d+)?(e-?\d+)?/);
  return match ? Number(match[0]) : text === "–" || text === "" ? null : text.toLowerCase();
}

function compare(one, other) {
  if (one === null || other === null) return (one === null) - (other === null);
  if (typeof one === typeof other) return one < other ? -1 : one > other ? 1 : 0;
  return typeof one === "number" ? -1 : 1;
}

function sortable(table) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.textContent = "";
    head.append(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const cell of table.tHead.rows[0].cells) cell.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...body.rows].map((row) => [value(row.cells[column]), row]);
      rows.sort(([one], [other]) => (one === null || other === null ? compare(one, other) : up ? compare(one, other) : compare(other, one)));
      body.append(...rows.map(([, row]) => row));
      table.dispatchEvent(new Event("change"));
    });
  });
}

// Long tables show their first rows, and a button for the others.
const FIRST = 30;
function shortened(table) {
  const body = table.tBodies[0];
  if (body.rows.length <= FIRST + 5) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "all";
  let isWhole = false;
  const show = () => {
    const rows = [...body.rows].filter((row) => !row.classList.contains("off"));
    [...body.rows].forEach((row) => row.classList.remove("beyond"));
    const isLong = rows.length > FIRST + 5;
    if (isLong && !isWhole) rows.slice(FIRST).forEach((row) => row.classList.add("beyond"));
    button.hidden = !isLong;
    button.textContent = isWhole ? `Show the first ${FIRST} of ${rows.length} rows` : `Show all ${rows.length} rows`;
    button.setAttribute("aria-expanded", String(isWhole));
  };
  button.addEventListener("click", () => { isWhole = !isWhole; show(); });
  table.addEventListener("change", show);
  table.parentElement.after(button);
  show();
}

// A filter is a group of buttons, one for each value. data-filters has the name of each, its values and the one that is
// chosen at first; rows, and other parts of the section, have their value in the attribute of that name, or are always
// shown. Verdicts are a filter of every table that has several; at first, rows of what was not run are hidden.
const NOT_RUN = "not checkable here";
function filtered(table) {
  const rows = [...table.tBodies[0].rows];
  const verdicts = new Map(rows.map((row) => [row, [...row.querySelectorAll("[data-verdict]")].map((cell) => cell.dataset.verdict)]));
  const filters = JSON.parse(table.dataset.filters || "[]").map(([name, values, first]) => {
    const choices = values.map((value) => [value, (part) => [undefined, value].includes(part.dataset[name])]);
    return [name, [["all", () => true], ...choices], first];
  });
  const isNamed = filters.length > 0;
  const others = filters.flatMap(([name]) => [...table.closest("section").querySelectorAll(`p[data-${name}]`)]);
  const found = [...new Set([...verdicts.values()].flat())].sort((one, other) => (one === NOT_RUN) - (other === NOT_RUN));
  if (found.length > 1) {
    const wasRun = (part) => !(verdicts.get(part) || []).length || verdicts.get(part).some((verdict) => verdict !== NOT_RUN);
    const choices = found.map((verdict) => [verdict, (part) => !verdicts.has(part) || verdicts.get(part).includes(verdict)]);
    const all = found.includes(NOT_RUN) ? "all that was run" : "all";
    filters.push(["verdict", [[all, wasRun], ...choices], all]);
  }
  const tests = {};
  const chosen = {};
  const apply = () => {
    for (const part of [...rows, ...others]) part.classList.toggle("off", !Object.values(tests).every((test) => test(part)));
    if (isNamed) leaveOut(table, chosen);
    table.dispatchEvent(new Event("change"));
  };
  for (const [name, choices, first] of filters) {
    chosen[name] = choices.length < 3;
    if (chosen[name]) continue; // a single value
    const chips = document.createElement("div");
    chips.className = "chips";
    chips.setAttribute("role", "group");
    chips.setAttribute("aria-label", `Filter by ${name}`);
    if (isNamed) chips.dataset.name = name;
    choices.forEach(([text, test], number) => {
      const chip = document.createElement("button");
      const choose = () => {
        for (const other of chips.children) other.setAttribute("aria-pressed", String(other === chip));
        tests[name] = test;
        chosen[name] = number > 0;
      };
      chip.type = "button";
      chip.textContent = text;
      chips.append(chip);
      chip.addEventListener("click", () => { choose(); apply(); });
      if (text === first) choose();
    });
    table.parentElement.before(chips);
  }
  if (filters.length) apply();
}

// A column is left out if it is empty, or has only what is chosen in a filter.
function leaveOut(table, chosen) {
  const rows = [...table.tBodies[0].rows].filter((row) => !row.classList.contains("off"));
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const isEmpty = rows.length > 0 && rows.every((row) => row.cells[column].textContent.trim() === "–");
    for (const row of table.rows) row.cells[column].hidden = isEmpty || chosen[head.textContent] === true;
  });
}

function prepareTable(table) {
  sortable(table);
  shortened(table);
  filtered(table);
}
document.querySelectorAll(".table table").forEach(prepareTable);
