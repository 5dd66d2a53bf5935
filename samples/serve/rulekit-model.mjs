// A model that rulekit exported to ONNX, in JavaScript: what it says of itself, and scoring rows with it.
// Works in browsers and in Node.js, with onnxruntime-web or onnxruntime-node. No dependencies of its own.

/** What is wrong with a file or a row, for people. */
export class ModelError extends Error {}

// Reading the file -----------------------------------------------------------------------------------------------

/** Fields of a protocol buffer message: yields [number, bytes or null]. */
function* fields(bytes) {
  let place = 0;
  const varint = () => {
    let value = 0;
    for (let shift = 1; ; shift *= 128) {
      if (place >= bytes.length || shift > 2 ** 63) throw new ModelError("this is no ONNX file");
      const byte = bytes[place++];
      value += (byte & 127) * shift;
      if (byte < 128) return value;
    }
  };
  while (place < bytes.length) {
    const key = varint();
    const kind = key % 8;
    let size;
    if (kind === 0) size = (varint(), 0);
    else if (kind === 1) size = 8;
    else if (kind === 2) size = varint();
    else if (kind === 5) size = 4;
    else throw new ModelError("this is no ONNX file");
    if (place + size > bytes.length) throw new ModelError("this ONNX file is cut off");
    yield [Math.floor(key / 8), kind === 2 ? bytes.subarray(place, place + size) : null];
    place += size;
  }
}

/** The metadata of an ONNX file by key: field 14 of ModelProto, entries of key (1) and value (2). */
function metadataOf(bytes) {
  const found = Object.create(null);
  const text = new TextDecoder();
  for (const [number, content] of fields(bytes)) {
    if (number !== 14 || content === null) continue;
    const entry = Object.fromEntries([...fields(content)].map(([n, part]) => [n, text.decode(part ?? undefined)]));
    if (entry[1] in found) throw new ModelError(`${entry[1]} stands twice in this ONNX file`);
    found[entry[1]] = entry[2] ?? "";
  }
  return found;
}

async function unpacked(base64) {
  const packed = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

/**
 * What a model says of itself: { digest, classes, form, features (those that it reads, or all of a tensor), used
 * (names of the columns that rules read), rules: [{ id, text }], target, inputs: Map of input name to column }.
 */
export async function describe(bytes) {
  const metadata = metadataOf(bytes);
  if (!metadata["rulekit.model"]) throw new ModelError("this ONNX file carries no rulekit model");
  const model = await unpacked(metadata["rulekit.model"]);
  const names = JSON.parse(metadata["rulekit.names"] ?? "{}");
  const used = new Set(model.nodes.filter((node) => "feature" in node).map((node) => node.feature));
  return {
    digest: metadata["rulekit.digest"],
    classes: JSON.parse(metadata["rulekit.classes"]),
    form: metadata["rulekit.input"],
    target: model.schema.target,
    features: model.schema.features,
    used,
    rules: rulesOf(JSON.parse(metadata["rulekit.fired"] ?? "[]"), metadata["rulekit.rules"] ?? ""),
    columns: names.inputs ?? {},
    outputs: { label: "label", probabilities: "probabilities", fired: "fired", ...names.outputs },
    codes: JSON.parse(metadata["rulekit.codes"] ?? "{}"),
  };
}

const COMMENT = /\s+# r[0-9a-f]{6}.*$/;
const QUOTED = /"(?:[^"\\]|\\.)*"/g;

/** The text of each rule: the line with its id in the rule text, or the block that the line opens. */
function rulesOf(ids, text) {
  const lines = text.split("\n");
  return ids.map((id) => {
    let start = lines.findIndex((line) => new RegExp(`# ${id}\\b`).test(line));
    if (start < 0 && ids.length === 1) start = lines.findIndex((line) => line.startsWith("decide "));
    if (start < 0) return { id, text: id };
    const block = [];
    let depth = 0;
    for (let k = start; k < lines.length; k++) {
      block.push(lines[k].replace(COMMENT, ""));
      const bare = block[block.length - 1].replace(QUOTED, "");
      depth += bare.split("(").length - bare.split(")").length;
      if (depth <= 0) break;
    }
    const indent = block[0].search(/\S|$/);
    const plain = block.map((line) => line.slice(Math.min(indent, line.search(/\S|$/)))).join("\n");
    return { id, text: plain.replace(/,$/, "").replace(/^(decide .*? when|rule \d+:) /, "") };
  });
}

// Rows -----------------------------------------------------------------------------------------------------------

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** The number of a cell (text, number, Boolean, null); NaN where it is missing. */
function numberOf(cell, feature) {
  if (cell === null || cell === undefined) return NaN;
  if (typeof cell === "number") return feature.kind === "boolean" && !Number.isNaN(cell) ? Number(cell > 0.5) : cell;
  if (typeof cell === "boolean") return Number(cell);
  const text = String(cell).trim();
  if (text === "" || (feature.missing_tokens ?? []).includes(text) || /^nan$/i.test(text)) return NaN;
  if (feature.kind === "boolean") {
    if (/^(true|false)$/i.test(text)) return text.toLowerCase() === "true" ? 1 : 0;
    if (NUMBER.test(text)) return Number(text) > 0.5 ? 1 : 0;
    throw new ModelError(`${feature.name}: ${JSON.stringify(text)} is not true or false`);
  }
  if (NUMBER.test(text)) return Number(text);
  if (/^[+-]?inf(inity)?$/i.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
  const moment = feature.display === "date" || feature.display === "datetime" ? momentOf(text) : NaN;
  if (Number.isNaN(moment)) throw new ModelError(`${feature.name}: ${JSON.stringify(text)} is not a number`);
  return feature.display === "date" ? moment / 86400 : moment;
}

/** Seconds since 1970 of an ISO date or time; without a time zone it stands as it is. */
function momentOf(text) {
  const zoned = /(z|[+-]\d\d:?\d\d)$/i.test(text) && text.includes(":");
  const full = text.length === 10 ? `${text}T00:00` : text.replace(" ", "T");
  return Date.parse(zoned ? full : `${full}Z`) / 1000;
}

/** The text of a category cell; "" where it is missing. onnxruntime cuts a text at a NUL, and no level holds one. */
function textOf(cell, feature) {
  if (cell === null || cell === undefined || (typeof cell === "number" && Number.isNaN(cell))) return "";
  const text = typeof cell === "string" ? cell.trim() : String(cell);
  if (!text.includes("\0")) return text;
  let unseen = "unseen";
  while ((feature.levels ?? []).includes(unseen) || (feature.missing_tokens ?? []).includes(unseen)) unseen += "_";
  return unseen;
}

/** A value of an object by a key that comes from a file: `constructor` is a text like any other. */
const own = (object, key) => (Object.hasOwn(object, key) ? object[key] : undefined);

function codeOf(cell, feature, codes) {
  const code = own(own(codes, feature.name) ?? {}, textOf(cell, feature));
  return BigInt(code ?? (feature.unseen === "missing" ? 0 : 1));
}

/** Each input of a session by name: { type: "float32" | "float64" | "int64" | "string", columns: [feature, ...] }. */
function inputsOf(model, session) {
  const byName = new Map(model.features.map((feature) => [feature.name, feature]));
  return session.inputMetadata.map(({ name, type }) => ({
    name,
    type,
    columns: model.form === "tensor" ? model.features : [byName.get(own(model.columns, name) ?? name)],
  }));
}

/** Rows (objects by column name) as tensors; raises ModelError with the number of a row that cannot be read. */
export function feeds(ort, model, session, rows) {
  const arrays = { float32: Float32Array, float64: Float64Array, int64: BigInt64Array, string: Array };
  const fed = {};
  for (const { name, type, columns } of inputsOf(model, session)) {
    const values = new arrays[type](rows.length * columns.length);
    rows.forEach((row, i) => {
      columns.forEach((feature, j) => {
        const cell = own(row, feature.name);
        let value;
        try {
          if (type === "string") value = textOf(cell, feature);
          else if (feature.kind === "categorical") value = type === "int64" ? codeOf(cell, feature, model.codes) : NaN;
          else value = model.used.has(feature.name) ? numberOf(cell, feature) : NaN;
        } catch (error) {
          throw error instanceof ModelError ? new ModelError(`row ${i + 1}, ${error.message}`) : error;
        }
        values[i * columns.length + j] = value;
      });
    });
    fed[name] = new ort.Tensor(type, values, [rows.length, columns.length]);
  }
  return fed;
}

export const CHUNK = 8192;

/** Label, probabilities by class and ids of the fired rules (null where the file has no such output) of each row. */
export async function score(ort, model, session, rows) {
  const scored = [];
  for (let start = 0; start < rows.length; start += CHUNK) {
    const chunk = rows.slice(start, start + CHUNK);
    const found = await session.run(feeds(ort, model, session, chunk));
    const labels = found[model.outputs.label].data;
    const shares = found[model.outputs.probabilities].data;
    const fired = found[model.outputs.fired]?.data;
    const { length: classes } = model.classes;
    chunk.forEach((_, i) => {
      scored.push({
        label: labelOf(model, labels[i]),
        probabilities: Array.from(shares.subarray(i * classes, (i + 1) * classes)),
        fired: fired ? model.rules.filter((_, j) => fired[i * model.rules.length + j]).map((rule) => rule.id) : null,
      });
    });
  }
  return scored;
}

/** The class of a label output: text as it is; integers are the class values, 0 and 1 for false and true. */
function labelOf(model, label) {
  if (typeof label === "string") return label;
  const booleans = model.classes.every((text) => text === "true" || text === "false");
  return booleans ? String(Number(label) === 1) : String(label);
}

// CSV ------------------------------------------------------------------------------------------------------------

/** The rows of a CSV text with a header, as objects of texts; quotes as in RFC 4180; comma, semicolon or tab. */
export function readCsv(text) {
  const head = text.slice(0, text.search(/[\r\n]|$/));
  const delimiter = [",", ";", "\t"].reduce((best, d) => (head.split(d).length > head.split(best).length ? d : best));
  const table = [[""]];
  let quoted = false;
  for (let k = text.charCodeAt(0) === 0xfeff ? 1 : 0; k < text.length; k++) {
    const row = table[table.length - 1];
    const c = text[k];
    if (quoted) {
      if (c !== '"') row[row.length - 1] += c;
      else if (text[k + 1] === '"') row[row.length - 1] += text[++k];
      else quoted = false;
    } else if (c === '"' && row[row.length - 1] === "") quoted = true;
    else if (c === delimiter) row.push("");
    else if (c === "\n") table.push([""]);
    else if (c !== "\r") row[row.length - 1] += c;
  }
  const [names, ...lines] = table.filter((row) => row.length > 1 || row[0] !== "");
  if (!names) return [];
  return lines.map((cells, i) => {
    if (cells.length !== names.length) {
      throw new ModelError(`row ${i + 1} has ${cells.length} cells, the header ${names.length}`);
    }
    return Object.fromEntries(names.map((name, j) => [name.trim(), cells[j]]));
  });
}

/** One cell of CSV. */
export function csvCell(value) {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Scored rows as CSV: label, probability of each class, fired rules where the model has that output. */
export function writeCsv(model, scored) {
  const withRules = scored.some((row) => row.fired !== null);
  const head = ["label", ...model.classes.map((name) => `probability(${name})`), ...(withRules ? ["fired"] : [])];
  const lines = scored.map((row) => [row.label, ...row.probabilities, ...(withRules ? [row.fired.join(" ")] : [])]);
  return [head, ...lines].map((cells) => cells.map(csvCell).join(",") + "\n").join("");
}
