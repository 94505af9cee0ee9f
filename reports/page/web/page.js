"use strict";
// Plots are drawn when they come near the window, so that a phone draws only a few at a time.
const plots = JSON.parse(document.getElementById("plots").textContent);
const narrow = window.matchMedia("(max-width: 640px)");
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const touch = window.matchMedia("(pointer: coarse)");

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// The layout for this window: the colours of the page, and two panels stacked if the window is narrow.
function layoutFor(plot) {
  const layout = JSON.parse(JSON.stringify(plot.layout));
  const small = narrow.matches;
  layout.font = { ...layout.font, color: colour("--ink"), size: small ? 11 : 13 };
  layout.hoverlabel = { ...layout.hoverlabel, bgcolor: colour("--panel"), bordercolor: colour("--line"), font: { color: colour("--ink"), size: 13 } };
  layout.modebar = { bgcolor: "rgba(0,0,0,0)", color: colour("--soft"), activecolor: colour("--ink") };
  layout.dragmode = touch.matches || small ? false : "zoom"; // a finger scrolls the page
  layout.height = small ? 420 : 520;
  if (small) {
    layout.margin = { ...layout.margin, l: 48, r: 8 };
    layout.legend = { ...layout.legend, font: { size: 11 } };
  }
  if (layout.xaxis2 && small) {
    layout.xaxis.domain = [0, 1];
    layout.xaxis2.domain = [0, 1];
    layout.yaxis.domain = [0.58, 1];
    layout.yaxis2.domain = [0, 0.4];
    layout.legend.y = -0.14;
    layout.height = 680;
  }
  return layout;
}

function draw(box) {
  const plot = plots[box.dataset.plot];
  let target = box.querySelector(".plot");
  if (!target) {
    target = document.createElement("div");
    target.className = "plot";
    box.append(target);
    box.classList.add("live");
  }
  const buttons = [["toImage", "zoom2d", "pan2d", "resetScale2d"]];
  const config = { responsive: true, displaylogo: false, modeBarButtons: buttons, displayModeBar: narrow.matches ? false : "hover" };
  Plotly.react(target, plot.data, layoutFor(plot), config).then(() => makeRoom(target));
}

// A long legend makes the figure taller, so that it neither shrinks the plot nor covers the axis title.
function makeRoom(target) {
  const { legend, margin, height } = target._fullLayout;
  if (!legend || !legend._height) return;
  const taller = height + Math.max(0, legend._height - 40);
  const below = 80 + legend._height;
  const plot = taller - margin.t - below;
  Plotly.relayout(target, { height: taller, "margin.b": below, "legend.y": -72 / plot });
}

const boxes = [...document.querySelectorAll("[data-plot]")];
const near = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (entry.isIntersecting) {
      near.unobserve(entry.target);
      draw(entry.target);
    }
  }
}, { rootMargin: "500px" });
boxes.forEach((box) => near.observe(box));
for (const media of [narrow, dark]) {
  media.addEventListener("change", () => boxes.filter((box) => box.classList.contains("live")).forEach(draw));
}

// Cells that start with a number sort as numbers; – goes last.
function value(cell) {
  const text = cell.textContent.trim();
  if (text.startsWith("∞")) return Infinity;
  const number = text.replaceAll(",", "").replace("−", "-").match(/^-?\d+(\.\d+)?(e-?\d+)?/);
  return number ? Number(number[0]) : text === "–" || text === "" ? null : text.toLowerCase();
}

function compare(one, other) {
  if (one === null || other === null) return (one === null) - (other === null);
  if (typeof one === typeof other) return one < other ? -1 : one > other ? 1 : 0;
  return typeof one === "number" ? -1 : 1;
}

for (const table of document.querySelectorAll(".scroll table")) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
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
    });
  });
  for (const cell of body.querySelectorAll("td")) {
    const text = cell.textContent;
    if (text.startsWith("reproduced")) cell.classList.add("reproduced");
    else if (text.startsWith("differs")) cell.classList.add("differs");
    else if (text.startsWith("cannot be checked")) cell.classList.add("unchecked");
  }
}

// On a phone the table of contents is closed at first.
if (narrow.matches) document.querySelector("nav details").open = false;
