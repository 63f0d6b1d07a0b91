// The page sends what a person did and shows the answer. It knows nothing about privacy.
"use strict";
const byId = (id) => document.getElementById(id);
const area = byId("text"), work = byId("work"), status = byId("status"), problems = byId("problems"), numbers = byId("numbers");
const said = document.body.dataset;
let seen = said.seen, saved = area.value, queue = [], asking = false, typed = false;

// ask posts a question and returns the answer.
async function ask(verb, question) {
  try {
    const r = await fetch(verb, { method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ language: said.language, text: area.value, ...question }) });
    return r.ok ? await r.json() : { failed: true, message: await r.text() };
  } catch {
    return { failed: true, message: said.ended };
  }
}

// act puts an action into the queue. A newer value of the same control takes the place of the older one.
function act(verb, action) {
  const last = queue.at(-1);
  if (last && action && last.action?.name === action.name) last.action = action;
  else queue.push({ verb, action });
  pump();
}

async function pump() {
  if (asking || queue.length === 0) return;
  asking = true;
  work.setAttribute("aria-busy", "true");
  const { verb, action } = queue.shift();
  const before = area.value;
  const answer = await ask(verb, action ? { actions: [action] } : {});
  asking = false;
  if (answer.failed) tell(answer.message, true);
  else if (area.value === before) {
    show(answer);
  } else if (action) act(verb, action); // the text was changed meanwhile
  if (queue.length > 0) pump(); else work.removeAttribute("aria-busy");
}

// show puts an answer on the page.
function show({ text, form, lines }) {
  if (text !== undefined && text !== area.value) area.value = text;
  if (form) {
    const made = document.createElement("main");
    made.innerHTML = form; // html/template escaped everything in it
    match(work, made);
  }
  list(lines ?? []);
  changed();
  refresh();
}

// match makes one part of the page like another, and leaves what is the same: focus and open details stay.
function match(old, made) {
  const from = [...old.childNodes], to = [...made.childNodes];
  to.forEach((b, i) => {
    const a = from[i];
    if (!a) return old.append(b);
    if (a.nodeName !== b.nodeName || a.id !== b.id || a.name !== b.name) return a.replaceWith(b);
    if (a.nodeType === Node.TEXT_NODE) { if (a.data !== b.data) a.data = b.data; return; }
    if (a.nodeType !== Node.ELEMENT_NODE || a.dataset.keep !== undefined) return;
    for (const { name } of [...a.attributes]) if (!b.hasAttribute(name) && name !== "open") a.removeAttribute(name);
    for (const { name, value } of b.attributes) if (a.getAttribute(name) !== value) a.setAttribute(name, value);
    if (a.matches("input, select")) {
      if (a === document.activeElement && a.type !== "radio" && a.nodeName !== "SELECT" && typed) return;
      if (a.type === "radio") a.checked = b.checked;
      else { match(a, b); a.value = b.value ?? b.getAttribute("value") ?? ""; }
      return;
    }
    match(a, b);
  });
  for (const a of from.slice(to.length)) a.remove();
}

// list shows the problems, each with its line.
function list(lines) {
  const bad = new Map();
  problems.replaceChildren(...lines.map(({ line, message }) => {
    const item = document.createElement("li");
    item.lang = "en";
    if (line > 0) {
      bad.set(line, true);
      const go = document.createElement("button");
      go.type = "button";
      go.className = "quiet";
      go.lang = said.language;
      go.textContent = `${said.line} ${line}`;
      go.addEventListener("click", () => select(line));
      item.append(go, " ");
    }
    item.append(message);
    return item;
  }));
  if (lines.length === 0) {
    const item = document.createElement("li");
    item.className = "done";
    item.textContent = said.clean;
    problems.append(item);
  }
  mark(bad);
}

let marked = new Map();
function mark(bad = marked) {
  marked = bad;
  const n = area.value.split("\n").length;
  numbers.replaceChildren(...Array.from({ length: n }, (_, i) => {
    const e = document.createElement("div");
    e.textContent = i + 1;
    if (bad.has(i + 1)) e.className = "bad";
    return e;
  }));
  numbers.scrollTop = area.scrollTop;
}

function select(line) {
  const lines = area.value.split("\n");
  const from = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  area.focus();
  area.setSelectionRange(from, from + (lines[line - 1] ?? "").length);
  area.scrollTop = (line - 4) * parseFloat(getComputedStyle(area).lineHeight);
}

function changed() {
  byId("printed").textContent = area.value;
  if (area.value !== saved) tell(said.unsaved);
  else if (status.textContent === said.unsaved) tell("");
}

function tell(message, failed = false) {
  status.textContent = message;
  status.className = failed ? "problem" : "";
}

work.addEventListener("input", (e) => {
  typed = e.target.type === "text";
  if (e.target.type === "range") act("edit", { name: e.target.name, value: e.target.value });
});
work.addEventListener("change", (e) => {
  typed = false;
  const { name, value, type } = e.target;
  if (e.target.dataset.column !== undefined) {
    if (value.trim()) act("edit", { name: `use/${value.trim().replaceAll("~", "~0").replaceAll("/", "~1")}`, value: "number" });
    e.target.value = "";
  } else if (name && type !== "range") act("edit", { name, value });
});
work.addEventListener("click", (e) => {
  const button = e.target.closest("button");
  if (!button) return;
  const { do: verb, part } = button.dataset;
  if (verb === "header") act("header");
  else if (verb) act("edit", { name: verb, value: "" });
  if (part) fill(button);
});

// fill asks for a study or a picture, and again when the job has changed.
async function fill(button) {
  const { part, release, into } = button.dataset;
  const place = byId(into), asked = area.value;
  button.disabled = true;
  place.setAttribute("aria-busy", "true");
  const answer = await ask(part, release ? { release } : {});
  button.disabled = false;
  place.removeAttribute("aria-busy");
  place.setAttribute("aria-live", "polite");
  place.dataset.of = asked;
  if (answer.failed) place.textContent = answer.message;
  else place.innerHTML = answer.part; // html/template escaped everything in it
}

let again;
function refresh() {
  for (const place of document.querySelectorAll(".part[data-of]")) {
    if (place.dataset.of !== area.value) place.setAttribute("aria-busy", "true");
  }
  clearTimeout(again);
  again = setTimeout(() => {
    for (const button of document.querySelectorAll("button[data-part]:enabled")) {
      const { of } = byId(button.dataset.into).dataset;
      if (of !== area.value && (of !== undefined || button.dataset.auto !== undefined)) fill(button);
    }
  }, 700);
}

let later;
area.addEventListener("input", () => {
  mark();
  changed();
  clearTimeout(later);
  later = setTimeout(() => act("edit"), 300);
});
area.addEventListener("scroll", () => { numbers.scrollTop = area.scrollTop; });
byId("save").addEventListener("click", save);
document.addEventListener("keydown", (e) => {
  if ((e.ctrlKey || e.metaKey) && e.key === "s") { e.preventDefault(); save(); }
});
async function save() {
  const text = area.value;
  const answer = await ask("save", { seen });
  if (!answer.failed) { seen = answer.seen; saved = text; }
  tell(answer.message, answer.failed);
}
addEventListener("beforeunload", (e) => { if (area.value !== saved) e.preventDefault(); });
act("edit");
