// Designs a job in a real browser as a person would, and prints what is wrong, one JSON object:
// node design.mjs CHROMIUM SCREENSHOTS ADDRESS
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const [executablePath, screenshots, address] = process.argv.slice(2);
const problems = [], seen = {};
let clicks = 0;
const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
try {
  const page = await open({ width: 1400, height: 1000 });
  const box = (label) => page.getByLabel(label, { exact: true });
  const settled = async () => {
    await page.waitForFunction(() => !document.getElementById("work").hasAttribute("aria-busy"));
  };
  const click = async (what) => { clicks++; await what.click(); await settled(); };
  const choose = async (what, value) => { clicks++; await what.selectOption(value); await settled(); };
  const type = async (what, value) => { await what.fill(value); await what.press("Tab"); await settled(); };

  await settled();
  await accessible(page, "start");
  await click(page.getByRole("button", { name: "Yes, read that line" }));
  await click(page.getByRole("radio", { name: /How many there are is secret/ }));
  await choose(box("Which column says whose row it is?"), "patient");
  await click(page.getByRole("radio", { name: /^One/ }));
  await choose(box("Use region as"), "category");
  await type(box("The values that count"), "north, south, east");
  await choose(box("Add a table"), "count");
  await choose(box("Rows of the table"), "region");
  seen.found = await page.locator("#problems li").allInnerTexts();
  clicks++;
  await page.keyboard.press("Control+s");
  await page.waitForFunction(() => document.getElementById("status").textContent.includes("is saved"));
  seen.clicks = clicks;

  // Every number moves as ε moves, also by the keyboard alone.
  const noise = () => page.locator(".noise strong").first().innerText();
  const total = () => page.locator(".total .big").innerText();
  const before = [await noise(), await total()];
  const slider = box("ε, by slider");
  await slider.focus();
  for (let i = 0; i < 6; i++) await slider.press("ArrowRight");
  await settled();
  const after = [await noise(), await total()];
  if (before[0] === after[0] || before[1] === after[1]) problems.push(`ε moved and the numbers stayed: ${before} and ${after}`);
  if (!await slider.evaluate((e) => e === document.activeElement)) problems.push("the slider lost the focus");
  seen.moved = [before, after];

  // The text leads, too: a change and a comment there reach the form, and a form leaves the comment.
  const area = page.getByRole("textbox", { name: "The job" });
  const text = await area.inputValue();
  await area.fill(text.replace("version: 1", "version: 1 # a comment of mine").replace("relation: add-remove", "relation: replace-one"));
  await page.waitForFunction(() => document.querySelector('input[value="replace-one"]').checked);
  await settled();
  await type(box("How many are there? A public number"), "3000");
  const later = await area.inputValue();
  if (!later.includes("# a comment of mine") || !later.includes("size: 3000")) problems.push(`the text after a change in the form: ${later}`);
  await choose(box("Use cost as"), "number");
  await type(box("Smallest value that counts"), "0");
  // What is wrong stands at its line, and a click leads there.
  const wrong = page.locator("#problems button").first();
  await wrong.click();
  const at = await area.evaluate((e) => e.value.slice(e.selectionStart, e.selectionEnd));
  if (!at.includes("cost")) problems.push(`the problem leads to ${at}`);
  await accessible(page, "problems");
  await type(box("Largest value that counts"), "2000");
  await page.getByText("What is publicly assumed about cost").click();
  await type(box("Mean"), "400");
  await type(box("Standard deviation"), "300");
  await choose(box("Add a table"), "mean");
  await choose(box("Column"), "cost");

  await page.getByRole("button", { name: "Expected error of table_2" }).click();
  await page.locator("#study-1 table").waitFor();
  seen.study = await page.locator("#study-1").innerText();
  await page.getByRole("button", { name: "Draw made-up tables" }).click();
  await page.locator("#picture svg").first().waitFor({ timeout: 120_000 });
  seen.picture = await page.locator("#picture").innerText();
  seen.lines = await page.locator("#picture svg").first().locator("path.thin").count();
  seen.dots = await page.locator("#picture svg").first().locator("circle.dot").count();
  // A picture that is open follows ε.
  const picture = () => page.locator("#picture svg").first().innerHTML();
  const drawn = await picture();
  await type(box("ε of this table").first(), "0.9");
  await page.waitForFunction((before) => document.querySelector("#picture svg")?.innerHTML !== before, drawn, { timeout: 120_000 });
  await accessible(page, "filled");
  await shot(page, "design-wide");
  await page.evaluate(() => document.getElementById("step3").scrollIntoView());
  await shot(page, "design-first", false);

  for (const [name, size, scheme] of [["dark", { width: 1400, height: 1000 }, "dark"], ["phone", { width: 360, height: 740 }, "light"]]) {
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme: scheme });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (wide > 0) problems.push(`${name}: the page is ${wide} px too wide`);
    await accessible(page, name);
    await shot(page, `design-${name}`);
  }
  await page.setViewportSize({ width: 688, height: 1000 });
  await page.emulateMedia({ media: "print", colorScheme: "light" });
  const cut = await page.evaluate(() => [...document.querySelectorAll("main *, #printed")].filter((e) => !e.closest("svg") && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map((e) => e.outerHTML.slice(0, 80)));
  if (cut.length > 0) problems.push(`print: cut off: ${cut[0]}`);
  await shot(page, "design-print");

  const german = await open({ width: 1400, height: 1000 }, "?language=de");
  await german.waitForFunction(() => !document.getElementById("work").hasAttribute("aria-busy"));
  if (await german.evaluate(() => document.documentElement.lang) !== "de" || !await german.getByRole("heading", { name: "Wessen Daten?" }).isVisible()) problems.push("the page is not in German");
  await accessible(german, "german");
  await shot(german, "design-german");
  // The first stop of the tab key is the way to the forms.
  await german.keyboard.press("Tab");
  if (await german.evaluate(() => document.activeElement.className) !== "skip") problems.push("the first stop of the tab key is not the skip link");
} catch (e) {
  problems.push(e.message);
} finally {
  await browser.close();
}
console.log(JSON.stringify({ problems, ...seen }));

async function open(viewport, query = "") {
  const context = await browser.newContext({ viewport, colorScheme: "light", locale: "en-GB" });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  page.on("console", (m) => problems.push(`console ${m.type()}: ${m.text()}`));
  page.on("pageerror", (e) => problems.push(`error: ${e.message}`));
  page.on("request", (r) => { if (!r.url().startsWith(address)) problems.push(`request: ${r.url()}`); });
  page.on("dialog", (d) => { problems.push(`dialog: ${d.message()}`); d.dismiss(); });
  await page.goto(address + query);
  return page;
}

async function accessible(page, name) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, {
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  }));
  for (const v of found.violations) problems.push(`${name}: axe ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)).join(" | ")}`);
  seen[`rules ${name}`] = found.passes.length;
}

async function shot(page, name, fullPage = true) {
  if (screenshots) await page.screenshot({ fullPage, path: join(screenshots, `${name}.png`) });
}
