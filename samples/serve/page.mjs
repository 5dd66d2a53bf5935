// The page: builds a form from what a model says of itself, scores it as one types, and scores the rows of a CSV file.
// ?model=URL and ?rows=URL name other files beside the page, ?row=N the row that is put into the form first.

import * as ort from "./onnxruntime-web/ort.wasm.min.mjs";
import * as conditions from "./conditions.mjs";
import { ModelError, describe, readCsv, score, writeCsv } from "./rulekit-model.mjs";

const PAGE_ROWS = 12;
const $ = (id) => document.getElementById(id);
const here = new URL(document.baseURI);
ort.env.wasm.wasmPaths = new URL("onnxruntime-web/", here).href;
ort.env.wasm.numThreads = 1; // a thread costs more than it gives for calls this small, and needs special headers

const shown = { model: null, session: null, rows: [], scored: [], first: 0, selected: -1, turns: 0 };

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

function say(state, text) {
  $("state").dataset.state = state;
  $("state").textContent = text;
}

let last = Promise.resolve();

/** One thing after the other, as a session takes one call at a time; what goes wrong stands on the page, in one line. */
function guarded(work) {
  last = last.then(work).catch((error) => {
    console.error(error);
    say("wrong", error instanceof ModelError ? error.message : `This did not work: ${error.message ?? error}`);
  });
  return last;
}

const percent = (share) => `${(100 * share).toFixed(share > 0.9995 && share < 1 ? 2 : 1)} %`;

// The model --------------------------------------------------------------------------------------------------------

async function openModel(bytes, name) {
  const model = await describe(bytes);
  const session = await ort.InferenceSession.create(bytes, { executionProviders: ["wasm"] });
  await shown.session?.release();
  Object.assign(shown, { model, session, rows: [], scored: [], selected: -1 });
  $("title").textContent = `${model.target}: ${model.classes.join(" or ")}`;
  const read = model.features.filter((feature) => model.used.has(feature.name));
  const kinds = `${model.rules.length} rules over ${read.length} of ${model.features.length} columns`;
  $("facts").textContent = `${name}, ${(bytes.length / 1000).toFixed(1)} kB, ${kinds}, digest ${model.digest.slice(0, 12)}`;
  document.title = `${model.target}: a rulekit model in the browser`;
  $("fields").replaceChildren(...read.map(fieldOf));
  $("rows").hidden = true;
  await decide();
  say("ready", "");
}

/** A form field of a column: a number, a date, yes and no, or the levels; all may be missing. */
function fieldOf(feature, index) {
  const id = `field-${index}`;
  const unit = feature.unit ? ` (${feature.unit})` : "";
  let control;
  if (feature.kind === "boolean" || feature.kind === "categorical") {
    const values = feature.kind === "boolean" ? ["true", "false"] : feature.levels;
    const options = values.map((value) => element("option", { value }, value));
    const others = feature.kind === "categorical" ? [element("option", { value: unseenOf(feature) }, "another")] : [];
    control = element("select", {}, element("option", { value: "" }, "missing"), ...options, ...others);
  } else if (feature.display === "date") control = element("input", { type: "date" });
  else if (feature.display === "datetime") control = element("input", { type: "datetime-local", step: "1" });
  else control = element("input", { type: "text", inputmode: "decimal", placeholder: "missing" });
  Object.assign(control, { id, name: feature.name });
  control.setAttribute("aria-describedby", `${id}-wrong`);
  const label = element("label", { for: id }, `${feature.name}${unit}`);
  return element("div", { class: "field" }, label, control, element("small", { id: `${id}-wrong` }));
}

/** A text that is no level. */
function unseenOf(feature) {
  let text = "another";
  while (feature.levels.includes(text) || (feature.missing_tokens ?? []).includes(text)) text += "_";
  return text;
}

// One row ----------------------------------------------------------------------------------------------------------

const controls = () => [...$("fields").querySelectorAll("input, select")];

async function decide() {
  const turn = ++shown.turns;
  const row = Object.fromEntries(controls().map((control) => [control.name, control.value]));
  for (const control of controls()) setWrong(control, "");
  try {
    const [found] = await score(ort, shown.model, shown.session, [row]);
    showDecision(found, row);
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    const wrong = controls().find((control) => error.message.startsWith(`row 1, ${control.name}:`));
    if (!wrong) throw error;
    setWrong(wrong, error.message.slice(`row 1, ${wrong.name}: `.length));
  } finally {
    $("form").dataset.decided = String(turn);
  }
}

function setWrong(control, text) {
  control.setAttribute("aria-invalid", text ? "true" : "false");
  $(`${control.id}-wrong`).textContent = text;
}

function showDecision({ label, probabilities, fired }, row) {
  const { model } = shown;
  const lacking = unmet(model, row);
  $("label").textContent = label;
  $("probabilities").replaceChildren(
    ...model.classes.flatMap((name, k) => {
      const bar = element("div", { class: "track", role: "presentation" }, element("div"));
      bar.firstChild.style.width = `${100 * probabilities[k]}%`;
      return [element("dt", {}, name), element("dd", {}, bar), element("dd", { class: "number" }, percent(probabilities[k]))];
    }),
  );
  $("rules-title").textContent = fired === null ? "Rules (this file does not say which fire)" : rulesTitle(fired.length);
  $("rules").replaceChildren(
    ...model.rules.map((rule) => {
      const fires = fired?.includes(rule.id);
      const mark = element("span", { class: "mark" }, fires ? "✓ fires" : "not met");
      const text = element("pre", {}, rule.text);
      const id = element("code", { class: "quiet" }, rule.id);
      const failing = fires || fired === null ? [] : (lacking[rule.id] ?? []);
      const why = failing.map((condition) => element("li", {}, `not met: ${condition}`));
      const list = why.length ? [element("ul", { class: "unmet" }, ...why)] : [];
      return element("li", { class: fires ? "fired" : null, "data-rule": rule.id }, mark, text, id, ...list);
    }),
  );
}

/** The conditions of each rule that a row does not meet, by rule id, where the page was made with this model. */
function unmet(model, row) {
  if (model.digest !== conditions.MODEL || !Object.keys(conditions.CONDITIONS).length) return {};
  const { holds } = conditions.score(row);
  const failing = (listed) => listed.filter(([, place]) => !holds[place]).map(([text]) => text);
  return Object.fromEntries(Object.entries(conditions.CONDITIONS).map(([id, listed]) => [id, failing(listed)]));
}

const rulesTitle = (count) => (count === 0 ? "No rule fires" : count === 1 ? "One rule fires" : `${count} rules fire`);

// Many rows --------------------------------------------------------------------------------------------------------

async function openRows(text, name) {
  const rows = readCsv(text);
  const begun = performance.now();
  const scored = await score(ort, shown.model, shown.session, rows);
  const took = performance.now() - begun;
  Object.assign(shown, { rows, scored, first: 0, selected: -1 });
  const counts = shown.model.classes.map((label) => {
    const count = scored.filter((row) => row.label === label).length;
    return `${label} ${count.toLocaleString("en")}`;
  });
  $("rows-title").textContent = name;
  const time = took >= 1 ? ` in ${took.toFixed(0)} ms` : "";
  $("counts").textContent = `${rows.length.toLocaleString("en")} rows scored${time}: ${counts.join(", ")}`;
  URL.revokeObjectURL($("download").href);
  $("download").href = URL.createObjectURL(new Blob([writeCsv(shown.model, scored)], { type: "text/csv" }));
  $("rows").hidden = false;
  showRows();
}

function showRows() {
  const { model, rows, scored, first } = shown;
  const columns = model.features.filter((feature) => model.used.has(feature.name) && Object.hasOwn(rows[0] ?? {}, feature.name));
  const last = Math.min(first + PAGE_ROWS, rows.length);
  const number = (feature) => feature.kind === "numeric" && !["date", "datetime"].includes(feature.display);
  const head = ["row", "decision", "probability", "rules", ...columns.map((feature) => feature.name)];
  const right = [true, false, true, false, ...columns.map(number)];
  const cell = (kind, text, k, more = {}) => element(kind, { class: right[k] ? "number" : null, ...more }, text);
  document.querySelector("thead").replaceChildren(
    element("tr", {}, ...head.map((text, k) => cell("th", text, k, { scope: "col" }))),
  );
  document.querySelector("tbody").replaceChildren(
    ...scored.slice(first, last).map((found, i) => {
      const index = first + i;
      const take = element("button", { type: "button", title: "Put this row into the form" }, String(index + 1));
      const values = columns.map((feature) => rows[index][feature.name]);
      const share = percent(found.probabilities[model.classes.indexOf(found.label)]);
      const texts = [take, found.label, share, found.fired?.join(" ") ?? "", ...values];
      const made = element("tr", { "aria-selected": String(index === shown.selected) });
      made.append(...texts.map((text, k) => cell("td", text, k, k === 1 ? { class: "decided" } : {})));
      made.addEventListener("click", () => guarded(() => takeRow(index)));
      return made;
    }),
  );
  $("range").textContent = `${first + 1} to ${last} of ${rows.length.toLocaleString("en")}`;
  $("previous").disabled = first === 0;
  $("next").disabled = last >= rows.length;
}

async function takeRow(index) {
  shown.selected = index;
  for (const control of controls()) {
    const row = shown.rows[index];
    const value = Object.hasOwn(row, control.name) ? row[control.name].trim() : "";
    control.value = value;
    if (control.tagName === "SELECT" && control.value !== value) control.selectedIndex = control.options.length - 1;
  }
  showRows();
  await decide();
}

function turnPage(pages) {
  shown.first = Math.max(0, Math.min(shown.first + pages * PAGE_ROWS, shown.rows.length - 1));
  showRows();
}

// Start ------------------------------------------------------------------------------------------------------------

async function fetched(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new ModelError(`${url} is not there (${answer.status})`);
  return answer;
}

$("form").addEventListener("submit", (event) => event.preventDefault());
$("form").addEventListener("input", () => guarded(decide));
$("previous").addEventListener("click", () => turnPage(-1));
$("next").addEventListener("click", () => turnPage(1));
$("open-model").addEventListener("change", ({ target }) =>
  guarded(async () => {
    const [file] = target.files;
    if (file) await openModel(new Uint8Array(await file.arrayBuffer()), file.name);
  }),
);
$("open-rows").addEventListener("change", ({ target }) =>
  guarded(async () => {
    const [file] = target.files;
    if (file) await openRows(await file.text(), file.name);
    if (file) say("ready", "");
  }),
);

guarded(async () => {
  const wanted = here.searchParams;
  const [model, rows] = [wanted.get("model") ?? "model.onnx", wanted.get("rows") ?? (wanted.has("model") ? null : "rows.csv")];
  await openModel(new Uint8Array(await (await fetched(model)).arrayBuffer()), model);
  if (rows) {
    await openRows(await (await fetched(rows)).text(), rows);
    if (shown.rows.length) await takeRow(Math.min(Math.max(Number(wanted.get("row")) || 1, 1), shown.rows.length) - 1);
  }
  document.body.dataset.loaded = "true";
});
