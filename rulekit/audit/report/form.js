// The form of the page: each change of a field scores the row anew, by the module of the model that stands above.
(() => {
  const data = document.getElementById("fields");
  const form = document.getElementById("score-form");
  if (!data || !form) return;
  const fields = JSON.parse(data.textContent);
  const label = document.getElementById("score-label");
  const chances = document.getElementById("score-chances");
  const list = document.getElementById("score-rules");

  const element = (tag, text, name) => {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    if (name) made.className = name;
    return made;
  };

  // The options of a category are its places, so that no level is changed on its way through the page.
  function typed(column, value) {
    if (column.kind !== "categorical" || value === "") return value;
    if (value !== "new") return column.levels[Number(value)];
    let strange = "another level";
    while (column.levels.includes(strange) || column.missing.includes(strange)) strange += " ";
    return strange;
  }

  // Each cell is read by itself first, so that every field says what is wrong with it.
  function read() {
    const row = {};
    let wrong = "";
    fields.columns.forEach((column, k) => {
      const field = document.getElementById(`field-${k}`);
      const said = document.getElementById(`field-${k}-said`);
      row[column.name] = typed(column, field.value);
      try {
        cell(row, USED[k]);
        said.textContent = "";
        field.removeAttribute("aria-invalid");
      } catch (error) {
        said.textContent = error.message.slice(error.message.indexOf(": ") + 2);
        field.setAttribute("aria-invalid", "true");
        wrong = wrong || error.message;
      }
    });
    return [row, wrong];
  }

  function show() {
    const [row, wrong] = read();
    chances.replaceChildren();
    list.replaceChildren();
    if (wrong) {
      label.textContent = wrong;
      return;
    }
    const found = score(row);
    label.textContent = fields.classes[found.index];
    fields.classes.forEach((name, k) => {
      const chance = found.probabilities[k];
      const line = element("li");
      const bar = element("span", "", "meter");
      bar.style.setProperty("--part", String(Math.min(1, Math.max(0, chance))));
      line.append(element("span", name, "of"), bar, element("span", `${(100 * chance).toFixed(1)} %`, "number"));
      chances.append(line);
    });
    const held = fields.rules.filter((rule, k) => found.holds[k]);
    for (const rule of held) {
      const line = element("li");
      line.append(element("code", rule.id), ` ${rule.text} `);
      const points = rule.points === null ? `for ${rule.class}` : `${rule.points > 0 ? "+" : ""}${rule.points} points`;
      line.append(element("span", points, "quiet"));
      list.append(line);
    }
    if (!held.length) list.append(element("li", "No rule holds.", "quiet"));
  }

  document.getElementById("scorer").hidden = false;
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(show, 0));
  show();
})();
