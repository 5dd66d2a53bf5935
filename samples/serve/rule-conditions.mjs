// Which conditions of a rule a row does not meet, from the text of the rule; what is not understood is not judged.

import { cellState } from "./rulekit-model.mjs";

const COLUMN = String.raw`("(?:[^"\\]|\\.)*"|[\p{L}_][\p{L}\p{N}_.-]*)`;
const VALUE = String.raw`([^\s<>]+(?: [\d:.]+)?)`;
const pattern = (text) => new RegExp(`^${text}$`, "u");
const FORMS = [
  [pattern(`${COLUMN} is missing`), (m) => ({ column: m[1], test: () => false, missing: true })],
  [pattern(`${COLUMN} (<=|>) ${VALUE}`), (m) => ({ column: m[1], test: sides([m[2], m[3]]) })],
  [pattern(`${VALUE} < ${COLUMN} <= ${VALUE}`), (m) => ({ column: m[2], test: sides([">", m[1]], ["<=", m[3]]) })],
  [pattern(`${COLUMN} (not in|in) (\\{.*\\})`), (m) => ({ column: m[1], test: among(m[3], m[2] === "in"), unseen: m[2] !== "in" })],
  [pattern(`not ${COLUMN}`), (m) => ({ column: m[1], test: (value) => value === 0 })],
  [pattern(COLUMN), (m) => ({ column: m[1], test: (value) => value === 1 })],
];

const plain = (word) => (word.startsWith('"') ? JSON.parse(word) : word);

const sides =
  (...bounds) =>
  (value, { round, numberOf }) =>
    bounds.every(([order, text]) => (order === "<=" ? round(value) <= round(numberOf(text)) : round(value) > round(numberOf(text))));

function among(braces, within) {
  const levels = parts(braces.slice(1, -1), ", ").map(plain);
  return (value) => levels.includes(value) === within;
}

/** The parts of a text between separators that stand outside of quotes, parentheses and braces. */
function parts(text, separator) {
  const found = [""];
  let depth = 0;
  let quoted = false;
  for (let k = 0; k < text.length; k++) {
    const c = text[k];
    if (quoted) {
      if (c === "\\") found[found.length - 1] += text[k++];
      else if (c === '"') quoted = false;
    } else if (c === '"') quoted = true;
    else if ("({".includes(c)) depth++;
    else if (")}".includes(c)) depth--;
    else if (depth === 0 && text.startsWith(separator, k)) {
      found.push("");
      k += separator.length - 1;
      continue;
    }
    found[found.length - 1] += text[k];
  }
  return found.map((part) => part.trim()).filter((part) => part !== "");
}

/** Whether a condition holds of a row; undefined where it is of another form. */
function holds(text, model, row) {
  const inner = /^\((.*)\)$/su.exec(text)?.[1] ?? text;
  const [, bare, missing, unseen] = /^(.*?)( or missing)?( or unseen)?$/su.exec(inner);
  for (const [form, made] of FORMS) {
    const match = form.exec(bare);
    if (!match) continue;
    const condition = made(match);
    const feature = model.features.find((known) => known.name === plain(condition.column));
    if (!feature || feature.kind === "text") return undefined;
    const state = cellState(row[feature.name], feature);
    if (state.missing) return Boolean(missing || condition.missing);
    if (state.unseen) return Boolean(unseen || condition.unseen);
    return condition.test(state.value, state);
  }
  return undefined;
}

/** The conditions of a rule that a row does not meet, as texts; null where one of the rule is not understood. */
export function unmet(rule, model, row) {
  const whole = rule.text.replaceAll(/\s+/g, " ").trim();
  const listed = /^all of \((.*?),? ?\)$/su.exec(whole);
  const conditions = listed ? parts(listed[1], ", ") : parts(whole, " and ");
  const found = [];
  for (const text of conditions) {
    const state = holds(text, model, row);
    if (state === undefined) return null;
    if (!state) found.push(text);
  }
  return found;
}
