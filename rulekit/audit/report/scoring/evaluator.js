// Runs the steps of a model (rulekit/audit/report/scoring/steps.py) on the cells of one row.
const rulekit = (() => {
  "use strict";

  const limit = (value) => (value === "inf" ? Infinity : value === "-inf" ? -Infinity : value);
  const held = (places, values) => places.reduce((n, place) => n + (values[place] ? 1 : 0), 0);
  // A missing number is NaN, which fails every comparison; a missing text is null.
  const absent = (cell) => cell === null || Number.isNaN(cell);

  const rules = {
    compare: ([, column, op, value, missing], values, row) => {
      const cell = row[column];
      if (absent(cell)) return missing;
      return op === ">" ? cell > limit(value) : cell <= limit(value);
    },
    absent: ([, column], values, row) => absent(row[column]),
    cell: ([, column], values, row) => row[column],
    among: ([, column, texts, missing], values, row) =>
      row[column] === null ? missing : texts.includes(row[column]),
    contains: ([, column, tokens, missing], values, row) =>
      row[column] === null ? missing : tokens.some((token) => row[column].has(token)),
    constant: ([, value]) => value,
    number: ([, value]) => limit(value),
    not: ([, child], values) => !values[child],
    "at least": ([, k, children], values) => held(children, values) >= k,
    odd: ([, children], values) => held(children, values) % 2 === 1,
    choice: ([, condition, then, otherwise], values) => (values[condition] ? values[then] : values[otherwise]),
    sum: ([, children], values) => children.slice(1).reduce((sum, child) => sum + values[child], values[children[0]]),
    count: ([, children], values) => held(children, values),
    greater: ([, left, right], values) => values[left] > values[right],
    exp: ([, child], values) => Math.exp(values[child]),
    "+": ([, left, right], values) => Number(values[left]) + Number(values[right]),
    "-": ([, left, right], values) => Number(values[left]) - Number(values[right]),
    "*": ([, left, right], values) => Number(values[left]) * Number(values[right]),
    "/": ([, left, right], values) => Number(values[left]) / Number(values[right]),
  };

  // The class, the probabilities, and which rules hold, of a row of cells by column as `readCell` gives them.
  function score(program, row) {
    const values = [];
    for (const step of program.steps) values.push(rules[step[0]](step, values, row));
    return {
      label: values[program.label],
      probabilities: program.probabilities.map((place) => values[place]),
      holds: program.rules.map((rule) => values[rule.holds]),
    };
  }

  // The words of a text: longest runs of at least two letters and digits, in small letters, by the tables of the program.
  function words(text, tables) {
    const within = (runs, code) => runs.find(([first, last]) => first <= code && code <= last);
    const found = new Set();
    let word = [];
    const end = () => {
      if (word.length >= 2) found.add(word.join(""));
      word = [];
    };
    for (const character of text) {
      const code = character.codePointAt(0);
      if (within(tables.separators, code)) {
        end();
        continue;
      }
      const capital = tables.capitals.find(
        ([first, last, step]) => first <= code && code <= last && (code - first) % step === 0,
      );
      word.push(capital ? String.fromCodePoint(code + capital[3]) : character);
    }
    end();
    return found;
  }

  const MOMENT = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?)?$/;

  function moment(text, display) {
    const parts = MOMENT.exec(text);
    if (!parts) return NaN;
    const [year, month, day, hour, minute, second] = parts.slice(1, 7).map((part) => Number(part || 0));
    const date = new Date(0);
    date.setUTCFullYear(year, month - 1, day);
    if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return NaN;
    const seconds = hour * 3600 + minute * 60 + second + Number(`0.${parts[7] || 0}`);
    const days = date.getTime() / 86400000;
    return display === "date" ? days + seconds / 86400 : days * 86400 + seconds;
  }

  // A cell from its text; throws a sentence for what cannot be read. "" is missing.
  function readCell(column, text, program) {
    if (column.kind === "text") {
      return text === "" || column.missing.includes(text) ? null : words(text, program.tokens);
    }
    if (column.kind === "categorical") {
      if (text === "" || column.missing.includes(text)) return null;
      if (column.strict && !column.levels.includes(text)) throw new Error("the model refuses a level it never saw");
      return text;
    }
    if (column.kind === "boolean") return text === "" ? NaN : text === "true" ? 1 : 0;
    const typed = text.trim();
    if (typed === "") return NaN;
    const value = column.display === "number" ? Number(typed) : moment(typed, column.display);
    if (Number.isNaN(value)) throw new Error(column.display === "number" ? "this is not a number" : "this is no date");
    return column.missing.includes(value) ? NaN : value;
  }

  return { score, readCell };
})();
