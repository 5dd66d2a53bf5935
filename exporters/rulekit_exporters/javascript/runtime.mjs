// Run-time helpers of generated modules: reading cells and words. Functions that a module needs are copied word for word.

const NUMBER = /^[+-]?(([0-9]+[.]?[0-9]*|[.][0-9]+)(e[+-]?[0-9]+)?|inf(inity)?|nan)$/i;

const DAY = /^([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})$/;

const MOMENT =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.]([0-9]{1,6}))?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?$/;

const DATE_DIGITS =
  /^[1-9][0-9]{3}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])(([01][0-9]|2[0-3])([0-5][0-9]){2})?$/;

// What a text may have around the number or date that it writes.
const stripped = (text) => text.replace(/^[ \t\n\r\v\f]+|[ \t\n\r\v\f]+$/g, "");

// A cell of JavaScript as a text, number, truth value or date; null where it is missing.
function plain(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return null;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value;
  if (typeof value === "bigint") {
    if (value > 2n ** 53n || value < -(2n ** 53n)) throw new TypeError(`the integer ${value} is beyond 2^53`);
    return Number(value);
  }
  if (["string", "number", "boolean"].includes(typeof value)) return value;
  throw new TypeError(`${Array.isArray(value) ? "an array" : typeof value} is no text, number, truth value or date`);
}

// The cell of a column of numbers as a double, NaN where it is missing.
function number(value, tokens) {
  const found = plain(value);
  if (found === null) return NaN;
  if (typeof found !== "string") {
    if (found instanceof Date) throw new TypeError("a date is not a number");
    return Number(found);
  }
  const text = stripped(found);
  if (text === "" || tokens.includes(text) || tokens.includes(found)) return NaN;
  if (!NUMBER.test(text)) throw new TypeError(`${JSON.stringify(found)} is not a number`);
  const [, sign, word] = /^([+-]?)(.*)$/.exec(text);
  if (/^[0-9]+$/.test(word) && BigInt(word) > 2n ** 53n) {
    throw new TypeError(`the integer ${text} is beyond 2^53 and would be rounded`);
  }
  if (/^nan$/i.test(word)) return NaN;
  const size = /^inf/i.test(word) ? Infinity : Number(word);
  return sign === "-" ? -size : size;
}

// The cell of a Boolean column as 0 or 1, or a number; NaN where it is missing.
function flag(value, tokens) {
  const text = typeof value === "string" ? stripped(value).toLowerCase() : "";
  const read = ["true", "false"].includes(text) && !tokens.includes(stripped(value)) && !tokens.includes(value);
  return read ? Number(text === "true") : number(value, tokens);
}

// Microseconds since 1970-01-01T00:00 as an integer; undefined for a day or time that there is not.
function microseconds(year, month, day, hour = 0, minute = 0, second = 0, fraction = "") {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const there = year >= 1 && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  if (!there || hour > 23 || minute > 59 || second > 59) return undefined;
  const seconds = BigInt(date.getTime() / 1000 + hour * 3600 + minute * 60 + second);
  return seconds * 1000000n + BigInt(fraction.padEnd(6, "0"));
}

// Microseconds as seconds, rounded once.
function seconds(micros) {
  const size = micros < 0n ? -micros : micros;
  return Number(`${micros < 0n ? "-" : ""}${size / 1000000n}.${String(size % 1000000n).padStart(6, "0")}`);
}

// A number of days or seconds, which must not be the digits of a date such as 20240531.
function noDigits(value) {
  const digits = Math.abs(value) < 1e15 && Number.isInteger(value) ? String(value) : "";
  if (!DATE_DIGITS.test(digits)) return value;
  const written = `${digits.slice(0, 4)}-${digits.slice(4, 6)}-${digits.slice(6, 8)}`;
  throw new TypeError(`${digits} would count from 1970-01-01: write the date as ${written}`);
}

// The cell of a date column as days since 1970-01-01: an ISO date, a Date, or a number.
function day(value, tokens) {
  if (value instanceof Date) return plain(value) === null ? NaN : value.getTime() / 1000 / 86400;
  const parts = typeof value === "string" && !tokens.includes(value) ? DAY.exec(stripped(value)) : null;
  if (!parts) return noDigits(number(value, tokens));
  const micros = microseconds(...parts.slice(1).map(Number));
  if (micros === undefined) throw new TypeError(`${JSON.stringify(value)} is not a date (2024-05-31)`);
  return seconds(micros) / 86400;
}

// The cell of a column of moments as seconds since 1970-01-01T00:00, in UTC where it has a time zone.
function moment(value, tokens) {
  if (value instanceof Date) return plain(value) === null ? NaN : value.getTime() / 1000;
  const parts = typeof value === "string" && !tokens.includes(value) ? MOMENT.exec(stripped(value)) : null;
  if (!parts) return noDigits(number(value, tokens));
  const zone = parts[8];
  const local = microseconds(...parts.slice(1, 7).map((part) => Number(part ?? 0)), parts[7] ?? "");
  const away = zone && zone !== "Z" ? Number(`${zone[0]}1`) * (60 * zone.slice(1, 3) + Number(zone.slice(-2))) : 0;
  const micros = local === undefined ? local : local - BigInt(away) * 60000000n;
  if (micros === undefined || micros < -62135596800000000n || micros >= 253402300800000000n) {
    throw new TypeError(`${JSON.stringify(value)} is not a date (2024-05-31T12:00)`);
  }
  return seconds(micros);
}

// The text of a number: 3.0 is "3", and small ones are written as Python writes them.
function numberText(value) {
  if (Number.isInteger(value)) return BigInt(value).toString();
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (Math.abs(value) >= 1e-4) return String(value);
  const [digits, power] = value.toExponential().split("e-");
  return `${digits}e-${power.padStart(2, "0")}`;
}

// The text of a date: 2024-05-31 at midnight, else 2024-05-31T12:00, with its seconds where it has such.
function dateText(date) {
  const [on, at] = date.toISOString().slice(0, -1).split("T");
  if (at === "00:00:00.000") return on;
  return `${on}T${at.endsWith(":00.000") ? at.slice(0, 5) : at.endsWith(".000") ? at.slice(0, 8) : `${at}000`}`;
}

// The cell of a category or a text column as a text, null where it is missing; levels: those of the column.
function level(value, tokens, levels = []) {
  const found = plain(value);
  if (found === null || typeof found === "string") return found;
  if (typeof found === "number") return numberText(found);
  if (found instanceof Date) return dateText(found);
  const known = levels.length === 0 || levels.includes(String(found)) || tokens.includes(String(found));
  return known ? String(found) : String(Number(found));
}

// The same, where a level never seen is refused; known: all texts that are not.
function strict(value, tokens, levels, known) {
  const found = level(value, tokens, levels);
  if (found === null || known.includes(found)) return found;
  throw new TypeError(`the level ${JSON.stringify(found)} is unknown`);
}

// The words of a text by the tables of the module; the set of null where it is missing.
function words(value, tokens) {
  const text = level(value, tokens);
  if (text === null || text === "" || tokens.includes(text)) return new Set([null]);
  const found = new Set();
  let word = "";
  let length = 0;
  for (const character of `${text} `) {
    const code = character.codePointAt(0);
    if (SEPARATORS.some(([first, last]) => first <= code && code <= last)) {
      if (length >= SHORTEST) found.add(word);
      word = "";
      length = 0;
      continue;
    }
    const capital = UPPER_CASE.find(([first, last, step]) => first <= code && code <= last && (code - first) % step === 0);
    word += capital ? String.fromCodePoint(code + capital[3]) : character;
    length += 1;
  }
  return found;
}

// A number clipped, then rounded half to even to a multiple of a power of two (0: not).
function cleaned(value, missing, low, high, step) {
  if (Number.isNaN(value)) return missing;
  const inside = Math.min(Math.max(value, low), high);
  const steps = inside / step;
  if (step === 0 || Math.abs(steps) >= 2 ** 52) return inside;
  const below = Math.floor(steps);
  const half = steps - below;
  return (half < 0.5 || (half === 0.5 && below % 2 === 0) ? below : below + 1) * step;
}

// A cell as the rules take it; throws a TypeError that names the column.
function cell(row, [name, read, ...given]) {
  if (!Object.hasOwn(row, name)) throw new TypeError(`no column ${JSON.stringify(name)}`);
  try {
    return read(row[name], ...given);
  } catch (error) {
    throw new TypeError(`column ${JSON.stringify(name)}: ${error.message}`);
  }
}

// The class index of a row, an object of cells by column, its probabilities, and whether each of RULES holds.
export function score(row) {
  if (row === null || typeof row !== "object" || Array.isArray(row)) {
    throw new TypeError("a row is an object of cells by column");
  }
  const [index, probabilities, holds] = model(...USED.map((column) => cell(row, column)));
  return { index, label: CLASSES[index], probabilities, holds };
}

// The label of a row; throws a TypeError where `predict` of rulekit refuses it.
export const decide = (row) => score(row).label;

// The labels of rows.
export const predict = (rows) => Array.from(rows, decide);
