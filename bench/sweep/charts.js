"use strict";
// The charts: each is drawn when it comes into view, and again when the colours change.

const STAGES = ["io", "decode", "copy", "consumer", "runtime", "other"];
const configures = new Map();  // canvas -> colours -> what Chart.js draws
const darkScheme = matchMedia("(prefers-color-scheme: dark)");

addEventListener("error", ({message}) => {
  const note = document.createElement("p");
  note.className = "note";
  note.textContent = `The report's script failed: ${message}`;
  document.getElementById("report").append(note);
});

function colours() {
  const style = getComputedStyle(document.documentElement);
  return new Proxy({}, {get: (_, name) => style.getPropertyValue(`--${name}`).trim()});
}

function draw(canvas) {
  inView.unobserve(canvas);
  Chart.getChart(canvas)?.destroy();
  const theme = colours();
  Object.assign(Chart.defaults, {color: theme.text, borderColor: theme.line, animation: false});
  Object.assign(Chart.defaults, {maintainAspectRatio: false, devicePixelRatio: Math.max(2, devicePixelRatio)});
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  const config = configures.get(canvas)(theme);
  new Chart(canvas, {...config, plugins: [errorBars, segmentLabels]});
}

const inView = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) draw(entry.target);
}, {rootMargin: "400px"});

function drawLater(canvas, configure) {
  configures.set(canvas, configure);
  inView.observe(canvas);
}

darkScheme.addEventListener("change", () => {
  for (const canvas of configures.keys()) if (Chart.getChart(canvas)) draw(canvas);
});
// On paper all of them are seen, in dark ink.
for (const [event, onPaper] of [["beforeprint", true], ["afterprint", false]]) {
  addEventListener(event, () => {
    document.documentElement.classList.toggle("print", onPaper);
    for (const canvas of configures.keys()) draw(canvas);
  });
}

// A point's `low` and `high`, in the chart's own units, as a bar with caps along the value's axis.
const errorBars = {
  id: "errorBars",
  afterDatasetsDraw(chart) {
    const {ctx} = chart;
    const across = chart.options.indexAxis === "y";
    const scale = across ? chart.scales.x : chart.scales.y;
    ctx.save();
    ctx.lineWidth = 1.5;
    chart.data.datasets.forEach((dataset, index) => {
      if (!chart.isDatasetVisible(index)) return;
      ctx.strokeStyle = dataset.whiskers ?? dataset.borderColor;
      dataset.data.forEach((point, i) => {
        if (point?.low === undefined) return;
        const {x, y} = chart.getDatasetMeta(index).data[i];
        const [low, high] = [scale.getPixelForValue(point.low), scale.getPixelForValue(point.high)];
        const to = (along, side) => across ? [along, y + side] : [x + side, along];
        ctx.beginPath();
        for (const [from, fromSide, until, untilSide] of [[low, 0, high, 0], [low, -4, low, 4], [high, -4, high, 4]]) {
          ctx.moveTo(...to(from, fromSide));
          ctx.lineTo(...to(until, untilSide));
        }
        ctx.stroke();
      });
    });
    ctx.restore();
  },
};

// The stage's name within its part of a stacked bar, where there is room: colour is not the only thing that tells.
const segmentLabels = {
  id: "segmentLabels",
  afterDatasetsDraw(chart) {
    const {ctx} = chart;
    ctx.save();
    ctx.font = `11px ${Chart.defaults.font.family}`;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    chart.data.datasets.forEach((dataset, index) => {
      if (!dataset.named) return;
      for (const {x, base, y} of chart.getDatasetMeta(index).data) {
        const width = ctx.measureText(dataset.label).width + 8;
        if (Math.abs(x - base) < width + 4) continue;
        ctx.fillStyle = dataset.paper;
        ctx.fillRect((x + base - width) / 2, y - 8, width, 16);
        ctx.fillStyle = Chart.defaults.color;
        ctx.fillText(dataset.label, (x + base) / 2, y);
      }
    });
    ctx.restore();
  },
};

// `colour` with lines of the card's colour, other ones for each stage.
function hatched(colour, paper, kind) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const ctx = tile.getContext("2d");
  ctx.fillStyle = colour;
  ctx.fillRect(0, 0, 8, 8);
  ctx.strokeStyle = paper;
  ctx.globalAlpha = 0.55;
  const lines = [[], [[0, 8, 8, 0], [-1, 1, 1, -1], [7, 9, 9, 7]], [[4, 0, 4, 8]], [[0, 4, 8, 4]],
                 [[0, 0, 8, 8], [-1, 7, 1, 9], [7, -1, 9, 1]], [[4, 0, 4, 8], [0, 4, 8, 4]]][kind];
  for (const [x, y, toX, toY] of lines) {
    ctx.beginPath();
    ctx.moveTo(x, y);
    ctx.lineTo(toX, toY);
    ctx.stroke();
  }
  return ctx.createPattern(tile, "repeat");
}

const axis = (text, more = {}) => ({beginAtZero: true, grace: "5%", title: {display: true, text}, ...more});
const pointOf = (x, {mean, margin}) =>
  ({x, y: mean, ...(Number.isFinite(margin) ? {low: mean - margin, high: mean + margin} : {})});
const highest = (values) => Math.max(...values);
// `words`: of a point.
const plugins = (words) => ({
  legend: {position: "bottom", labels: {
    usePointStyle: true, boxWidth: 9, boxHeight: 9, sort: (a, b) => a.datasetIndex - b.datasetIndex}},
  tooltip: {callbacks: {title: () => "", label: ({dataset, raw}) => words(dataset, raw)}},
});

// The recommended setting and the best one, each with its own shape; one mark where they are the same. Over the rest.
function marksOf(theme, same, recommended, best) {
  const style = {borderColor: theme.text, showLine: false, clip: false, order: -1};
  return [
    {...style, label: same ? "recommended, and the best" : "recommended", data: recommended,
     pointStyle: "triangle", pointRadius: 9, backgroundColor: theme.mark},
    ...same ? [] : [{...style, label: "the best", data: best,
                     pointStyle: "rectRot", pointRadius: 8, backgroundColor: theme.best}],
  ];
}

// `curves`: [{name, lanes}], one or two.
const workersChart = (curves, finding, same) => (theme) => {
  const styles = [{borderColor: theme.accent, pointStyle: "circle"},
                  {borderColor: theme.second, pointStyle: "rect", borderDash: [2, 3]}];
  const at = ({setting, rate}) => [pointOf(setting.num_workers, rate)];
  const datasets = curves.map(({name, lanes}, i) => (
    {...styles[i], label: name, pointRadius: 4, backgroundColor: theme.card, data: lanes.flatMap(at)}));
  if (finding.predictions.length > 0) {
    datasets.push({label: "predicted", borderColor: theme.text, borderWidth: 2, borderDash: [7, 5], pointRadius: 5,
                   pointStyle: "crossRot", data: finding.predictions.map((one) => (
                     {x: one.num_workers, y: one.predicted}))});
  }
  datasets.push(...marksOf(theme, same, at(finding.recommended), at(finding.best)));
  const points = datasets.flatMap(({data}) => data);
  return {type: "line", data: {datasets}, options: {
    scales: {
      x: axis("workers", {type: "linear", ticks: {precision: 0}}),
      y: axis("images a second", {suggestedMax: highest(points.map(({y, high}) => high ?? y))}),
    },
    plugins: plugins(({label}, {x, y, high}) =>
      `${label}: ${count(x, "worker")}, ${number(y)}${high > y ? ` ± ${number(high - y)}` : ""} img/s`),
  }};
};

const memoryChart = (lanes, marks) => (theme) => {
  const points = (kept) => lanes.filter(({key}) => kept(key)).map(({median, words}) => (
    {x: median.memory_bytes / 1e6, y: median.images_per_second, words}));
  const datasets = marksOf(theme, marks.recommended === marks.best, points((key) => key === marks.recommended),
                           points((key) => key === marks.best));
  const others = points((key) => key !== marks.recommended && key !== marks.best);
  if (others.length > 0) {
    datasets.push({label: "other settings", data: others, pointRadius: 5, borderWidth: 2, borderColor: theme.accent,
                   backgroundColor: theme.card});
  }
  return {type: "scatter", data: {datasets}, options: {
    scales: {x: axis("memory, MB"), y: axis("images a second")},
    plugins: plugins((_, {x, y, words}) => `${words}: ${number(y)} img/s, ${number(x)} MB`),
  }};
};

// Of bars that lie: one lane a row.
const barScales = (title, most) => ({
  x: axis(title, {stacked: true, ...most}),
  y: {stacked: true, grid: {display: false}, ticks: {autoSkip: false}},
});

const blameChart = (lanes) => (theme) => ({type: "bar", data: {
  labels: lanes.map((lane) => lane.label),
  datasets: STAGES.map((stage, i) => ({
    label: stage, named: true, paper: theme.card, borderColor: theme.card, borderWidth: 1, barThickness: 22,
    backgroundColor: hatched(theme[stage], theme.card, i),
    data: lanes.map(({median}) => 100 * median.shares[stage]),
  })),
}, options: {
  indexAxis: "y", scales: barScales("% of the time", {max: 100}),
  plugins: {legend: {position: "bottom"}, tooltip: {callbacks: {
    label: ({dataset, raw}) => `${dataset.label}: ${number(raw, 1)} %`}}},
}});

const firstBatchChart = (lanes) => (theme) => ({type: "bar", data: {
  labels: lanes.map((lane) => lane.label),
  datasets: [{
    backgroundColor: theme.accent, whiskers: theme.text, barThickness: 14,
    parsing: {xAxisKey: "median", yAxisKey: "label"},
    data: lanes.map(({firstBatch, label}) => ({...firstBatch, label})),
  }],
}, options: {
  indexAxis: "y",
  scales: barScales("milliseconds", {suggestedMax: highest(lanes.map(({firstBatch}) => firstBatch.high))}),
  plugins: {legend: {display: false}, tooltip: {callbacks: {
    label: ({raw}) => `${number(raw.median)} ms, from ${number(raw.low)} to ${number(raw.high)}`}}},
}});
