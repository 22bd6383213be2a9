"use strict";
// The report: what a result's numbers say, in words, tables and charts. Data becomes text nodes only.

const AS_GOOD = "2 %";
const MOST_BARS = 20;
const result = JSON.parse(document.getElementById("result").textContent);

function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children.flat(Infinity).filter((child) => child !== ""));
  return node;
}
const paragraph = (text, style = "") => text ? element("p", {class: style}, text) : "";

const number = (value, digits = 0) => Number.isFinite(value) ?
  value.toLocaleString("en-US", {minimumFractionDigits: digits, maximumFractionDigits: digits}) : "–";
const count = (many, noun) => `${number(many)} ${noun}${many === 1 ? "" : "s"}`;
const bytes = (value) => value >= 1e9 ? `${number(value / 1e9, 1)} GB` : `${number(value / 1e6)} MB`;
const milliseconds = (seconds) => `${number(1000 * seconds)} ms`;
const plusMinus = ({mean, margin}, digits = 0) =>
  number(mean, digits) + (Number.isFinite(margin) ? ` ± ${number(margin, digits)}` : "");
const percent = ({mean, margin}) =>
  `${plusMinus({mean: 100 * mean, margin: Number.isFinite(margin) ? 100 * margin : null}, 1)} %`;
const rateWords = (lane) => lane.rate ? plusMinus(lane.rate) : lane.error || (lane.failed ? "failed" : "not run");
const againstWords = (lane) => lane.against_best ? percent(lane.against_best) : "–";
const offBy = ({predicted, measured}) => 100 * (predicted / measured - 1);

const KNOBS = ["num_workers", "prefetch_factor", "queue_depth", "reader"];
const keyOf = (setting) => KNOBS.map((knob) => setting[knob]).join();
const restWords = ({prefetch_factor: prefetch, queue_depth: depth, reader}) =>
  `prefetch ${prefetch}, depth ${depth}, ${reader}`;
const settingWords = (setting) => `${count(setting.num_workers, "worker")}, ${restWords(setting)}`;

// `columns`: [heading, text of a row's cell, whether it is a number]; the first one names the row.
function table(name, columns, rows) {
  const style = (isNumber) => isNumber ? {class: "number"} : {};
  const head = columns.map(([heading, , isNumber]) => element("th", {scope: "col", ...style(isNumber)}, heading));
  const body = rows.map((row) => element("tr", {}, columns.map(([, text, isNumber], i) => i === 0 ?
    element("th", {scope: "row", ...style(isNumber)}, text(row)) : element("td", style(isNumber), text(row)))));
  // It can be scrolled sideways, by keys too.
  return element("div", {class: "wide", tabindex: 0, role: "region", "aria-label": name}, element("table", {},
    element("thead", {}, element("tr", {}, head)), element("tbody", {}, body)));
}

function codeLine(name, text) {
  const code = element("code", {}, text);
  const button = element("button", {type: "button", "aria-live": "polite"}, `Copy ${name}`);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {  // not allowed here
      getSelection().selectAllChildren(code);
      button.textContent = "Selected: copy it";
    }
  });
  return element("div", {class: "code"}, element("pre", {}, code), button);
}

function chart(title, caption, height, configure, numbers) {
  const canvas = element("canvas", {role: "img", "aria-label": `${title}. ${caption} A table of it follows.`});
  const box = element("div", {class: "canvas"}, canvas);
  box.style.height = `${height}px`;
  drawLater(canvas, configure);
  return element("figure", {}, element("figcaption", {}, element("h3", {}, title), caption), box,
                 element("details", {}, element("summary", {}, `As a table: ${title.toLowerCase()}`), numbers));
}

// The lanes that have a rate, fastest first, each with its runs.
function lanesOf(scenario, marks) {
  const lanes = [];
  for (const lane of scenario.finding.lanes) {
    const key = keyOf(lane.setting);
    const runs = scenario.runs.filter((run) => !run.error && keyOf(run) === key);
    if (!lane.rate || runs.length === 0) continue;
    runs.sort((a, b) => a.images_per_second - b.images_per_second);
    const first = runs.map((run) => 1000 * run.first_batch_seconds).sort((a, b) => a - b);
    const {num_workers: workers, prefetch_factor: prefetch, queue_depth: depth, reader} = lane.setting;
    const mark = (key === marks.recommended ? "▲" : "") + (key === marks.best ? "◆" : "");
    lanes.push({
      ...lane, key, words: settingWords(lane.setting), median: runs[runs.length >> 1],
      label: [`${mark} ${count(workers, "worker")}, ${reader}`.trim(), `prefetch ${prefetch}, depth ${depth}`],
      firstBatch: {low: first[0], median: first[first.length >> 1], high: first.at(-1)},
    });
  }
  return lanes.sort((a, b) => b.rate.mean - a.rate.mean);
}

// What is drawn as bars where all would be too many: what the rules say, and the fastest.
function someOf(lanes, finding) {
  const named = new Set([finding.recommended, finding.best, ...finding.baselines].map((lane) => keyOf(lane.setting)));
  const first = [...lanes].sort((a, b) => named.has(b.key) - named.has(a.key)).slice(0, MOST_BARS);
  return lanes.filter((lane) => first.includes(lane));
}

// Throughput by number of workers: of settings that are the recommended one but for it, and of the ones that most
// numbers were tried with.
function curvesOf(lanes, finding) {
  const groups = new Map();
  for (const lane of [...lanes].sort((a, b) => a.setting.num_workers - b.setting.num_workers)) {
    const name = restWords(lane.setting);
    groups.set(name, [...groups.get(name) ?? [], lane]);
  }
  const curves = [...groups].map(([name, members]) => ({name, lanes: members}));
  const own = curves.find((curve) => curve.name === restWords(finding.recommended.setting));
  const widest = curves.reduce((a, b) => b.lanes.length > a.lanes.length ? b : a);
  if (own && own.lanes.length === widest.lanes.length) return [own];
  return own && own.lanes.length > 1 ? [own, widest] : [widest];
}

function workersFigure(lanes, finding, same) {
  const curves = curvesOf(lanes, finding);
  const own = curves[0].name === restWords(finding.recommended.setting);
  const words = [
    "Means with their 95 % intervals.",
    curves[0].lanes.length === 1 ? "No other number of workers was run with the same knobs." :
      own ? "The line: settings that differ from the recommended one in the number of workers only." :
      `Numbers of workers were tried with ${curves[0].name}.`,
    curves.length > 1 ? `Dotted: ${curves[1].name}, with which most numbers were tried.` : "",
    finding.predictions.length > 0 ? "Dashed: what the model predicted before it was run." :
      "The model predicted none of them.",
    "The marks are of the last race alone, in which settings were run in turns.",
  ];
  const numbers = [table("Throughput", [
    ["Setting", (lane) => lane.words], ["img/s", rateWords, true], ["Runs", (lane) => number(lane.rate.runs), true],
  ], curves.flatMap((curve) => curve.lanes))];
  if (finding.predictions.length > 0) {
    numbers.push(table("Predictions", [
      ["Workers", (one) => number(one.num_workers), true], ["Predicted, img/s", (one) => number(one.predicted), true],
      ["Measured, img/s", (one) => number(one.measured), true],
      ["Off by", (one) => `${number(offBy(one), 1)} %`, true],
    ], finding.predictions));
  }
  const caption = words.filter(Boolean).join(" ");
  return chart("Throughput against workers", caption, 340, workersChart(curves, finding, same), numbers);
}

function charts(scenario) {
  const {finding} = scenario;
  const marks = {recommended: keyOf(finding.recommended.setting), best: keyOf(finding.best.setting)};
  const lanes = lanesOf(scenario, marks);
  if (lanes.length === 0) return paragraph("No run succeeded: there is nothing to draw.");
  const bars = someOf(lanes, finding);
  const height = 38 * bars.length + 110;
  const which = "▲ is the recommended setting, ◆ the best; the fastest are on top." + (bars.length < lanes.length ?
    ` ${bars.length} of ${lanes.length} settings: those of the rules, and the fastest; the table has all.` : "");
  const setting = ["Setting", (lane) => lane.words];
  const shareWords = ({median}, stage) => `${number(100 * median.shares[stage], 1)} %`;
  return element("div", {class: "charts"},
    workersFigure(lanes, finding, marks.recommended === marks.best),
    chart("Memory against throughput", "Up and to the left is better. The median run of each setting.", 340,
          memoryChart(lanes, marks), table("Memory", [
            setting, ["img/s", (lane) => number(lane.median.images_per_second), true],
            ["Memory", (lane) => bytes(lane.median.memory_bytes), true],
            ["Planned", (lane) => bytes(lane.median.planned_bytes), true],
          ], lanes)),
    chart("What the time went into", "Of each setting's median run: reading, decoding and augmenting, the copy to " +
          `the device, the training step, the loader's own work, the rest. ${which}`, height, blameChart(bars),
          table("What the time went into", [
            setting, ...STAGES.map((stage) => [stage, (lane) => shareWords(lane, stage), true]),
          ], lanes)),
    chart("Time to the first batch", `Median, and from the shortest to the longest of its runs. ${which}`, height,
          firstBatchChart(bars), table("First batch", [
            setting, ["Median, ms", ({firstBatch}) => number(firstBatch.median), true],
            ["Shortest, ms", ({firstBatch}) => number(firstBatch.low), true],
            ["Longest, ms", ({firstBatch}) => number(firstBatch.high), true],
          ], lanes)));
}

function kneeWords({recommended, best, lanes, falls_beyond: fallsBeyond}) {
  const words = [];
  if (lanes.filter((lane) => lane.rate).length === 1) {
    words.push("It is the only setting that could be run: there is nothing to compare it with.");
  } else if (keyOf(recommended.setting) === keyOf(best.setting)) {
    words.push(`It was the fastest of the last race, and no smaller setting came within ${AS_GOOD} of it.`);
  } else {
    words.push(`It is the smallest setting within ${AS_GOOD} of the best: it reaches ${againstWords(recommended)} of ` +
               `${settingWords(best.setting)}, which makes ${rateWords(best)} img/s.`);
  }
  if (fallsBeyond) words.push(`More than ${count(best.setting.num_workers, "worker")} are slower.`);
  const {mean, margin, runs} = recommended.rate;
  if (!Number.isFinite(margin)) words.push("It was run once: how sure its rate is cannot be said.");
  else words.push(`Its rate is the mean of ${count(runs, "run")} with its 95 % interval` +
                  (margin > 0.05 * mean ? ", which is wide: longer runs (--seconds) would tell more." : "."));
  return words.join(" ");
}

function answer({scenario, finding}) {
  const {recommended, best, typical} = finding;
  const busy = typical.cpu_seconds_per_1000 * typical.images_per_second / 1000;
  const facts = [
    ["Memory", `${bytes(typical.memory_bytes)} (${bytes(typical.planned_bytes)} planned)`],
    ["CPU time", `${number(typical.cpu_seconds_per_1000, 2)} s for 1,000 pictures`],
    ["CPUs kept busy", `${number(busy, 1)} of ${number(result.cpus)}`],
    ["First batch", `after ${milliseconds(typical.first_batch_seconds)}`],
    ...scenario.step_ms > 0 ? [["The step waits", `${number(100 * typical.stall_share)} % of the time`]] : [],
  ];
  const top = keyOf(recommended.setting) === keyOf(best.setting) ? [{...best, name: "recommended, and the best"}] :
    [{...recommended, name: "recommended"}, {...best, name: "the best"}];
  return [
    element("p", {class: "answer"}, element("span", {}, settingWords(recommended.setting)),
            element("span", {}, `${rateWords(recommended)} img/s`)),
    paragraph(kneeWords(finding)),
    element("dl", {class: "facts"}, facts.map(([name, text]) =>
      element("div", {}, element("dt", {}, name), element("dd", {}, text)))),
    codeLine("C++", finding.cpp), codeLine("Python", finding.python),
    typical.verdict ? paragraph(`What limits it: ${typical.verdict}. ${typical.advice}`) : "",
    element("h3", {}, "Beside the usual rules"),
    table("Beside the usual rules", [
      ["Rule", (lane) => lane.name], ["img/s", rateWords, true], ["Of the best", againstWords, true],
      ["Setting", (lane) => settingWords(lane.setting)],
    ], [...top, ...finding.baselines]),
  ];
}

function nothingWords({runs}) {
  const failed = runs.find((run) => run.error);
  const why = runs.length === 0 ? "no run was made." : "no run was over.";
  return `Nothing can be recommended: ${failed ? failed.error : why}`;
}

function scenarioSection(scenario, index) {
  const {words, finding} = scenario;
  const content = finding ? [answer(scenario), charts(scenario)] : paragraph(nothingWords(scenario), "note");
  const failures = finding && finding.failures.length > 0 ? [element("h3", {}, "Could not be run"),
    element("ul", {}, finding.failures.map((failure) => element("li", {}, failure)))] : [];
  return element("section", {id: `scenario-${index}`}, element("h2", {}, words), content, failures);
}

function choicesSection() {
  const rows = result.alternatives;
  return ["choices", "Other choices", rows.length === 0 ? paragraph("None were run.") : [
    paragraph("With the first job's recommended setting. They change what a batch holds."),
    table("Other choices", [
      ["Choice", (one) => one.name], ["img/s", rateWords, true], ["Of as it is", againstWords, true],
      ["Memory", (one) => one.rate ? bytes(one.memory_bytes) : "–", true],
    ], rows)]];
}

function stepsSection() {
  const rows = result.step_limits;
  return ["steps", "The step alone", rows.length === 0 ? paragraph("Not measured (--replay measures it).") : [
    paragraph("A training step whose batches are there already: no loader makes it faster."),
    table("The step alone", [
      ["Step", (one) => `${number(one.step_ms, one.step_ms % 1 ? 1 : 0)} ms`],
      ["img/s", (one) => one.images_per_second > 0 ? number(one.images_per_second) : "could not be measured", true],
    ], rows)]];
}

function runsSection() {
  const found = result.scenarios.filter((one) => one.finding);
  const offWords = ({predictions}, of) =>
    predictions.length > 0 ? `${number(of(predictions.map((one) => Math.abs(offBy(one)))), 1)} %` : "none";
  return ["runs", "Runs and predictions", [
    paragraph(`${count(result.runs, "run")} in all. Made again because the machine's other work changed: ` +
              `${count(result.repeated, "run")}; begun again for it: ${number(result.restarts)} of the searches. ` +
              `${number(result.foreign_cpus, 1)} of ${count(result.cpus, "CPU")} were busy with something else.`),
    found.length === 0 ? "" : table("Runs and predictions", [
      ["Job", (one) => one.words], ["Runs", (one) => number(one.finding.runs), true],
      ["Whole grid", (one) => number(one.finding.grid_runs), true],
      ["Saved", ({finding}) => result.interrupted ? "–" : number(Math.max(0, finding.grid_runs - finding.runs)), true],
      ["Predictions off by", (one) => offWords(one.finding, (all) => all.reduce((a, b) => a + b) / all.length), true],
      ["At worst", (one) => offWords(one.finding, (all) => Math.max(...all)), true],
    ], found)]];
}

function machineSection() {
  return ["machine", "Machine and command", [
    element("pre", {}, result.machine || "Nothing is known of the machine."), codeLine("command", result.command),
    paragraph(`${result.data}: ${number(result.pictures)} of ${count(result.pictures_in_all, "picture")} were used. ` +
              `${result.date}.`)]];
}

function warnings() {
  const {interrupted, unsteady, foreign_cpus: foreign, cpus} = result;
  return [
    interrupted ? "The sweep was interrupted: this is what was measured until then. The same command with --resume " +
      "goes on." : "",
    unsteady ? "The machine's other work went on changing: do not trust small differences." : "",
    foreign > 0.1 * cpus ? `${number(foreign, 1)} of ${count(cpus, "CPU")} were busy with something else all the ` +
      "time: rates are lower for it." : "",
  ].map((text) => paragraph(text, "note"));
}

function contents(sections) {
  const link = (id, text) => element("a", {href: `#${id}`}, text);
  const jobs = result.scenarios.map((one, index) => ({...one, index}));
  const of = (text) => ({finding}) => finding ? text(finding) : "–";
  return element("nav", {"aria-label": "Contents"},
    jobs.length === 0 ? paragraph("No job was measured.", "note") : table("Recommended", [
      ["Job", (job) => link(`scenario-${job.index}`, job.words)],
      ["Take", of(({recommended}) => settingWords(recommended.setting))],
      ["img/s", of(({recommended}) => rateWords(recommended)), true],
      ["Memory", of(({typical}) => bytes(typical.memory_bytes)), true],
    ], jobs),
    element("ul", {}, sections.map(([id, title]) => element("li", {}, link(id, title)))));
}

const sections = [choicesSection(), stepsSection(), runsSection(), machineSection()];
document.title = `stoker bench: ${result.data}`;
document.getElementById("report").replaceChildren(
  element("header", {}, element("h1", {}, "stoker bench"),
          paragraph(`${result.data}, ${count(result.cpus, "CPU")}, ${result.date}`, "muted"), warnings()),
  element("section", {}, element("h2", {}, "What to take"), contents(sections)),
  ...result.scenarios.map(scenarioSection),
  ...sections.map(([id, title, content]) => element("section", {id}, element("h2", {}, title), content)));
