const narrow = window.matchMedia("(max-width: 640px)");
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const touch = window.matchMedia("(pointer: coarse)");
let boxes = [...document.querySelectorAll("[data-plot]")];
const shownBudgets = {};
let plots = {};

async function unpack() {
  const [data, folded] = await Promise.all([unpacked("plots"), unpacked("folded")]);
  plots = JSON.parse(data);
  for (const [name, html] of Object.entries(JSON.parse(folded))) document.querySelector(`[data-packed="${CSS.escape(name)}"]`).innerHTML = html;
  boxes = [...document.querySelectorAll("[data-plot]")];
  document.querySelectorAll("[data-packed] .table table").forEach(prepareTable);
  document.querySelectorAll(".budget").forEach(prepareBudget);
  reveal();
  if (boxes.length) await runUnpacked("plotly");
  boxes.forEach((box) => near.observe(box));
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// A colour for small text: darker on white, lighter on black.
function readable(hex) {
  if (!/^#[0-9a-f]{6}$/i.test(hex)) return hex;
  const parts = [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
  const [towards, share] = dark.matches ? [255, 0.35] : [0, 0.35];
  return `rgb(${parts.map((part) => Math.round(part + (towards - part) * share)).join(",")})`;
}

// The layout for this window: the colours of the page, and two panels stacked if the window is narrow.
function layoutFor(name) {
  const plot = plots[name];
  const layout = JSON.parse(JSON.stringify(plot.layout));
  const small = narrow.matches;
  const hasTop = layout.xaxis2 && layout.xaxis2.side === "top";
  for (const axis of ["xaxis", "yaxis", "xaxis2", "yaxis2"]) {
    if (layout[axis] && layout[axis].title) layout[axis].title = { standoff: 8, ...layout[axis].title, font: { size: small ? 11 : 13 } };
  }
  layout.font = { ...layout.font, color: colour("--ink"), size: small ? 11 : 13 };
  layout.hoverlabel = { ...layout.hoverlabel, bgcolor: colour("--panel"), bordercolor: colour("--line"), font: { color: colour("--ink"), size: 13 } };
  layout.modebar = { bgcolor: "rgba(0,0,0,0)", color: colour("--soft"), activecolor: colour("--ink") };
  layout.dragmode = touch.matches || small ? false : "zoom"; // a finger scrolls the page
  const rows = (layout.yaxis && layout.yaxis.tickvals || []).length; // names on the axis, one below the other
  layout.height = Math.max(small ? 440 : 500, 17 * rows + 160);
  if (small && rows > 12) layout.yaxis.tickfont = { size: 9 };
  if (hasTop) layout.margin = { ...layout.margin, t: layout.title ? 76 : 56 };
  if (small) {
    layout.margin = { ...layout.margin, l: 48, r: 8 };
    layout.legend = { ...layout.legend, font: { size: 11 } };
    if (plot.phone) layout.annotations = JSON.parse(JSON.stringify(plot.phone));
  }
  for (const note of layout.annotations || []) {
    note.font = { ...note.font, color: readable(note.font.color) };
    if (note.showarrow) note.arrowcolor = note.font.color;
  }
  if (layout.yaxis2 && small) {
    layout.xaxis.domain = [0, 1];
    layout.xaxis2.domain = [0, 1];
    layout.yaxis.domain = [0.58, 1];
    layout.yaxis2.domain = [0, 0.4];
    layout.legend.y = -0.14;
    layout.height = 680;
  }
  if (name in shownBudgets) layout.shapes = [...(layout.shapes || []), budgetLine(plot, shownBudgets[name])];
  return layout;
}

function draw(box) {
  const name = box.dataset.plot;
  const target = box.querySelector(".plot");
  box.classList.add("live");
  const buttons = [["toImage", "zoom2d", "pan2d", "resetScale2d"]];
  const config = { responsive: true, displaylogo: false, modeBarButtons: buttons, displayModeBar: narrow.matches ? false : "hover" };
  Plotly.react(target, plots[name].data, layoutFor(name), config).then(() => makeRoom(target)).then(() => {
    window.firstPlot = window.firstPlot || performance.now(); // for measurements
  });
}

// A long legend makes the figure taller, so that it neither shrinks the plot nor covers the axis title.
function makeRoom(target) {
  const { legend, margin, height } = target._fullLayout;
  if (!legend || !legend._height) return null;
  const taller = height + Math.max(0, legend._height - 40);
  const below = 72 + legend._height;
  const plot = taller - margin.t - below;
  return Plotly.relayout(target, { height: taller, "margin.b": below, "legend.y": -64 / plot });
}

const near = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (entry.isIntersecting && entry.target.offsetParent) {
      near.unobserve(entry.target);
      draw(entry.target);
    }
  }
}, { rootMargin: "900px" });

// Budgets: 0, then 1, 2, 5, 10, … up to the most expensive setting.
function steps(budget) {
  const costs = budget.points.map((point) => point.x / budget.clients).filter((cost) => cost > 0);
  if (!costs.length) return [0];
  const [least, most] = [Math.min(...costs), Math.max(...costs)];
  const values = [0];
  for (let power = Math.floor(Math.log10(least)); power <= Math.ceil(Math.log10(most)); power += 1) {
    for (const factor of [1, 2, 5]) values.push(Number((factor * 10 ** power).toPrecision(3)));
  }
  return values.filter((value, number) => !value || (value >= least / 2 && (values[number - 1] < most)));
}

function budgetLine(plot, limit) {
  const x = limit > 0 ? limit * plot.budget.clients : plot.budget.zero || plot.budget.clients * 1e-9;
  return { type: "line", xref: "x", yref: "paper", x0: x, x1: x, y0: 0, y1: 1, line: { dash: "dot", width: 2, color: colour("--link") } };
}

function number(value) {
  return value >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
}

function prepareBudget(box) {
  const name = box.dataset.budget;
  const { budget } = plots[name];
  const [slider, label, body] = [box.querySelector("input"), box.querySelector("b"), box.querySelector("tbody")];
  const values = steps(budget);
  slider.max = values.length - 1;
  slider.value = values.includes(10) ? values.indexOf(10) : Math.floor(values.length / 2);
  box.querySelectorAll("th")[2].textContent = budget.metric;
  const show = () => {
    const limit = values[Number(slider.value)];
    shownBudgets[name] = limit;
    label.textContent = limit ? `at most ${number(limit)}` : "no";
    slider.setAttribute("aria-valuetext", `${number(limit)} transfers per client`);
    body.replaceChildren(...bestRows(budget, limit));
    const target = document.querySelector(`[data-plot="${CSS.escape(name)}"].live .plot`);
    if (target && target._fullLayout) Plotly.relayout(target, { shapes: layoutFor(name).shapes });
  };
  slider.addEventListener("input", show);
  show();
}

// One row for each method: its best setting within the budget.
function bestRows(budget, limit) {
  const methods = [...new Set(budget.points.map((point) => point.method))];
  const best = methods.map((method) => budget.points
    .filter((point) => point.method === method && point.x / budget.clients <= limit * (1 + 1e-9))
    .reduce((first, point) => (!first || budget.sign * point.y > budget.sign * first.y ? point : first), null));
  const top = best.filter(Boolean).reduce((first, point) => (!first || budget.sign * point.y > budget.sign * first.y ? point : first), null);
  const names = ["best within the budget", "setting", budget.metric, "transfers per client"];
  return methods.map((method, index) => {
    const point = best[index];
    const row = document.createElement("tr");
    const cells = point ? [method, point.setting, point.value, number(point.x / budget.clients)] : [method, "none within the budget", "–", "–"];
    cells.forEach((text, column) => {
      const cell = document.createElement("td");
      cell.dataset.column = names[column];
      const inner = point && point === top ? document.createElement("b") : cell;
      inner.textContent = text;
      if (inner !== cell) cell.append(inner);
      row.append(cell);
    });
    return row;
  });
}

// Tabs: one figure at a time; arrow keys move between them.
for (const list of document.querySelectorAll("[role=tablist]")) {
  const tabs = [...list.querySelectorAll("[role=tab]")];
  const select = (chosen) => {
    for (const tab of tabs) {
      const is = tab === chosen;
      tab.setAttribute("aria-selected", String(is));
      tab.tabIndex = is ? 0 : -1;
      document.getElementById(tab.getAttribute("aria-controls")).hidden = !is;
    }
  };
  tabs.forEach((tab, index) => {
    tab.addEventListener("click", () => select(tab));
    tab.addEventListener("keydown", (event) => {
      const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!move) return;
      const next = tabs[(index + move + tabs.length) % tabs.length];
      select(next);
      next.focus();
      event.preventDefault();
    });
  });
  select(tabs[0]);
}

// A link to something that is folded or on another tab shows it.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  const panel = target.closest("[role=tabpanel]");
  if (panel) document.getElementById(panel.getAttribute("aria-labelledby")).click();
  for (let box = target; box; box = box.parentElement) if (box.tagName === "DETAILS") box.open = true;
  target.scrollIntoView({ behavior: "instant" });
}
window.addEventListener("hashchange", reveal);
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#"]');
  if (link && link.hash === location.hash) reveal();
});

// The contents show where the reader is, and unfold the entries of that section.
const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
const parts = [...document.querySelectorAll("main .part")];
function highlight() {
  const current = parts.filter((part) => part.getBoundingClientRect().top < innerHeight / 3).pop() || parts[0];
  for (const part of parts) {
    const link = links.get(part.id);
    if (!link) continue;
    if (part === current) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}
let isWaiting = false;
window.addEventListener("scroll", () => {
  if (isWaiting) return;
  isWaiting = true;
  requestAnimationFrame(() => { isWaiting = false; highlight(); });
}, { passive: true });
highlight();
if (narrow.matches) document.querySelector("nav details").open = false;

for (const media of [narrow, dark]) {
  media.addEventListener("change", () => boxes.filter((box) => box.classList.contains("live") && box.offsetParent).forEach(draw));
}
function stayPacked() {
  for (const box of boxes) {
    box.classList.add("still");
    box.querySelector(".waiting").textContent = `This browser cannot unpack the plot: see figures/${box.dataset.plot}.png, next to this page.`;
  }
  for (const place of document.querySelectorAll("[data-packed]:empty")) {
    place.textContent = "This browser cannot unpack this section: see the folders figures and tables, next to this page.";
  }
}
if ("DecompressionStream" in window) unpack().catch((error) => { stayPacked(); throw error; });
else stayPacked();
