// Theme, charts, local times, connection status. Everything else is HTML from the server.
"use strict";

const $ = (selector) => document.querySelector(selector);
const root = document.documentElement;

const THEMES = [
  ["", "auto"],
  ["light", "light"],
  ["dark", "dark"],
];

function showTheme() {
  const now = THEMES.find(([name]) => name === (root.dataset.theme || ""));
  $("#theme").textContent = `Theme: ${now[1]}`;
  drawCharts();
}

function nextTheme() {
  const at = THEMES.findIndex(([name]) => name === (root.dataset.theme || ""));
  const [name] = THEMES[(at + 1) % THEMES.length];
  if (name) root.dataset.theme = name;
  else delete root.dataset.theme;
  try {
    localStorage.setItem("sojourn-theme", name);
  } catch {
    // Storage is not allowed: the choice lasts for this page.
  }
  showTheme();
}

function localTimes() {
  for (const time of document.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    const day = { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
    time.textContent = time.classList.contains("day")
      ? at.toLocaleString([], day)
      : at.toLocaleTimeString([], { hourCycle: "h23" });
    time.title = at.toLocaleString();
  }
}

// The element #stream holds the connection: removing it disconnects.
let stream = null;

function status(words, kind) {
  const said = $("#status");
  if (said && said.textContent !== words) said.textContent = words;
  const live = $(".live");
  if (live) live.dataset.kind = kind;
}

function connect(on) {
  const now = $("#stream");
  if (!on && now) {
    stream = now.cloneNode(true);
    htmx.remove(now);
    htmx.trigger(now, "htmx:beforeCleanupElement");
  } else if (on && !now && stream) {
    $("#main").prepend(stream);
    htmx.process(stream);
  }
}

function paused() {
  const button = $("#pause");
  return button !== null && button.getAttribute("aria-pressed") === "true";
}

function pause() {
  const button = $("#pause");
  const on = !paused();
  button.setAttribute("aria-pressed", String(on));
  connect(!on);
  if (on) status("Paused", "paused");
  else status("Connecting", "waiting");
}

// The session is over: the page answers with the form to sign in.
function signIn() {
  connect(false);
  location.reload();
}

// Browsers limit the connections to one host: a page in the background gives its own up.
function seen() {
  if (!paused()) connect(!document.hidden);
}

const charts = new Map();

function points(name) {
  const holder = $("#series [data-points]");
  if (!holder) return null;
  const { at, visits, [name]: curve } = JSON.parse(holder.dataset.points);
  const width = Number(holder.dataset.width);
  const data = [[], [], [], [], []];
  at.forEach((start, i) => {
    if (i > 0 && start - at[i - 1] > 1.5 * width) {
      [at[i - 1] + width, null, null, null, null].forEach((x, k) => data[k].push(x));
    }
    [start, curve[i][0], curve[i][1], curve[i][2], visits[i]].forEach((x, k) => data[k].push(x));
  });
  // An experiment younger than the span fills the width, from a dozen points on.
  const last = at.length ? at[at.length - 1] : Date.now() / 1000;
  const first = Math.min(at.length ? at[0] : last, last - 12 * width);
  return { data, from: Math.max(Number(holder.dataset.from), first), to: last + width / 2 };
}

// The differences of a variant to the holdout, with the lines across and upright.
function compared(name, metric) {
  const holder = $("#snapshots [data-snapshots]");
  if (!holder) return null;
  const { curves, margin, shares, alarm } = JSON.parse(holder.dataset.snapshots);
  const { at, visits, points } = curves[name];
  if (!at.length) return null;
  const [value, low, high] = [0, 1, 2].map((k) => points.map((point) => point[k]));
  const width = at.map((_, i) => high[i] - low[i]);
  const late = at.map((_, i) => i).filter((i) => width[i] <= 4 * width[at.length - 1]);
  const lines = margin && margin.metric === metric && margin.at < 0 ? [margin.at] : [];
  const ends = [0, ...lines, ...late.map((i) => low[i]), ...late.map((i) => high[i])];
  const [least, most] = [Math.min(...ends), Math.max(...ends)];
  const room = 0.08 * (most - least || 1);
  return {
    data: [at, value, low, high, visits],
    from: at[0], to: Math.max(at[at.length - 1], at[0] + 60),
    range: [least - room, most + room],
    lines, shares, alarm,
  };
}

// Lines over a chart, in pixels of the canvas.
function rule(chart, shown) {
  const { ctx } = chart;
  const { left, top, width, height } = chart.bbox;
  const ratio = devicePixelRatio;
  const across = (y) => [left, chart.valToPos(y, "y", true), left + width, chart.valToPos(y, "y", true)];
  const upright = (x) => [chart.valToPos(x, "x", true), top, chart.valToPos(x, "x", true), top + height];
  const draw = (line, tone, dash) => {
    ctx.strokeStyle = colour(tone);
    ctx.setLineDash(dash.map((length) => length * ratio));
    ctx.beginPath();
    ctx.moveTo(line[0], line[1]);
    ctx.lineTo(line[2], line[3]);
    ctx.stroke();
  };
  ctx.save();
  ctx.lineWidth = ratio;
  draw(across(0), "--muted", []);
  for (const y of shown.lines) draw(across(y), "--orange", [5, 3]);
  const inside = (x) => x !== null && x > shown.from && x <= shown.to;
  for (const x of shown.shares) if (inside(x) && x !== shown.alarm) draw(upright(x), "--muted", [3, 3]);
  if (inside(shown.alarm)) draw(upright(shown.alarm), "--orange", []);
  ctx.restore();
}

function colour(name) {
  return getComputedStyle(root).getPropertyValue(name).trim();
}

const figures = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

function readout(chart, output) {
  const i = chart.cursor.idx;
  if (i == null || chart.data[1][i] == null) {
    output.textContent = "";
    return;
  }
  const [at, value, low, high, visits] = chart.data.map((column) => column[i]);
  const time = new Date(at * 1000).toLocaleTimeString([], { hourCycle: "h23" });
  const [a, b, c] = [value, low, high].map((x) => figures.format(x));
  output.textContent = `${time}  ${a}  (${b} to ${c})  ${visits} visits`;
}

function options(element, shown) {
  const tone = element.dataset.of === "length" ? "--orange" : "--blue";
  const line = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 } };
  const font = { ...line, font: "11px system-ui, sans-serif", ticks: { show: false } };
  const edge = { stroke: "transparent", points: { show: false } };
  const output = element.closest("figure").querySelector("output");
  return {
    width: element.clientWidth,
    height: element.clientHeight,
    legend: { show: false },
    padding: [8, 8, 0, 0],
    cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
    scales: {
      x: { time: true, range: () => [shown.from, shown.to] },
      y: { range: (_, low, high) => shown.range || [0, high > 0 ? high * 1.08 : 1] },
    },
    axes: [
      { ...font, size: 28, space: 70, values: marks },
      { ...font, size: shown.range ? 46 : 40, space: 32 },
    ],
    series: [
      {},
      { stroke: colour(tone), width: 1.75, points: { show: shown.data[0].length < 3, size: 6 } },
      edge,
      edge,
    ],
    bands: [{ series: [3, 2], fill: colour(`${tone}-band`) }],
    hooks: {
      setCursor: [(chart) => readout(chart, output)],
      draw: shown.range ? [(chart) => rule(chart, shown)] : [],
    },
  };
}

function marks(_, times) {
  const step = times.length > 1 ? times[1] - times[0] : 60;
  const date = { month: "short", day: "numeric" };
  const clock = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  if (step < 60) clock.second = "2-digit";
  return times.map((seconds) => {
    const at = new Date(seconds * 1000);
    const midnight = at.getHours() + at.getMinutes() + at.getSeconds() === 0;
    return at.toLocaleString([], midnight || step >= 86400 ? date : clock);
  });
}

function drawCharts() {
  for (const [element, chart] of charts) {
    chart.destroy();
    charts.delete(element);
  }
  if (typeof uPlot !== "function") return; // the table has the numbers
  for (const element of document.querySelectorAll(".chart")) {
    const { of, snapshotsOf, metric } = element.dataset;
    const shown = snapshotsOf ? compared(snapshotsOf, metric) : points(of);
    if (snapshotsOf) element.closest("figure").hidden = !shown;
    if (!shown || !element.clientWidth) continue;
    const drawn = shown.data[0].length ? shown.data.slice(0, 4) : [[], [], [], []];
    const chart = new uPlot(options(element, shown), drawn, element);
    chart.data[4] = shown.data[4];
    charts.set(element, chart);
  }
}

function updated() {
  localTimes();
  drawCharts();
  status("Live", "live");
}

async function copy(button) {
  const text = document.getElementById(button.dataset.copy).textContent;
  const word = button.firstChild;
  try {
    await navigator.clipboard.writeText(text);
    word.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
    word.textContent = "Selected";
  }
  setTimeout(() => { word.textContent = "Copy"; }, 2000);
}

document.addEventListener("htmx:sseMessage", updated);
document.addEventListener("htmx:sseOpen", (event) => {
  status("Live", "live");
  event.detail.source.addEventListener("trouble", (message) => status(message.data, "lost"));
  event.detail.source.addEventListener("ended", signIn);
});
document.addEventListener("htmx:sseError", () => status("Connection lost, reconnecting", "lost"));
document.addEventListener("htmx:afterSettle", localTimes);
document.addEventListener("visibilitychange", seen);
document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.id === "theme") nextTheme();
  else if (button.id === "pause") pause();
  else if (button.classList.contains("copy")) copy(button);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawCharts);
let resizing = 0;
addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(drawCharts, 100);
});
localTimes();
showTheme();
