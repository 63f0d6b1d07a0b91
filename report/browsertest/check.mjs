// Opens pages in a real browser and prints what is wrong with each, one JSON
// object a line: node check.mjs CHROMIUM SCREENSHOTS PAGE...
// SCREENSHOTS is a folder for pictures, or "" for none.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const [executablePath, screenshots, ...pages] = process.argv.slice(2);
const modes = [
  { name: "light", viewport: { width: 1100, height: 900 }, colorScheme: "light", media: "screen" },
  { name: "dark", viewport: { width: 1100, height: 900 }, colorScheme: "dark", media: "screen" },
  { name: "phone", viewport: { width: 360, height: 740 }, colorScheme: "light", media: "screen" },
  // What is left of A4 between the page's margins.
  { name: "print", viewport: { width: 688, height: 1000 }, colorScheme: "light", media: "print" },
];

const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
try {
  for (const file of pages) await Promise.all(modes.map((mode) => check(file, mode)));
} finally {
  await browser.close();
}

async function check(file, mode) {
  const context = await browser.newContext({ viewport: mode.viewport, colorScheme: mode.colorScheme });
  const page = await context.newPage();
  const problems = [];
  const url = pathToFileURL(file).href;
  page.on("console", (m) => problems.push(`console ${m.type()}: ${m.text()}`));
  page.on("pageerror", (e) => problems.push(`error: ${e.message}`));
  page.on("request", (r) => { if (r.url() !== url) problems.push(`request: ${r.url()}`); });
  await page.emulateMedia({ media: mode.media, colorScheme: mode.colorScheme });
  await page.goto(url);
  problems.push(...await page.evaluate(look, { phone: mode.name === "phone", print: mode.media === "print" }));
  if (mode.name === "light" && await page.locator("a.skip").count() > 0) problems.push(...await keyboard(page));
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, {
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  }));
  for (const v of found.violations) {
    problems.push(`axe ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(" | ")}`);
  }
  let sheets = 0;
  if (mode.media === "print") {
    const pdf = await page.pdf({ preferCSSPageSize: true, format: "A4", path: screenshots ? join(screenshots, basename(file, ".html") + ".pdf") : undefined });
    sheets = (pdf.toString("latin1").match(/\/Type\s*\/Page\b/g) ?? []).length;
  } else if (screenshots) {
    await page.screenshot({ fullPage: true, path: join(screenshots, `${basename(file, ".html")}-${mode.name}.png`) });
  }
  const figures = await page.locator("svg").count();
  console.log(JSON.stringify({ page: basename(file), mode: mode.name, figures, rules: found.passes.length, sheets, problems }));
  await context.close();
}

// look runs in the page.
function look({ phone, print }) {
  const out = [];
  const root = document.documentElement;
  const width = root.clientWidth;
  // What is folded is looked at, too, but for print: a page is printed as it is seen.
  if (!print) for (const d of document.querySelectorAll("details")) d.open = true;
  if (root.scrollWidth > width) out.push(`the page is ${root.scrollWidth} px wide in a window of ${width}`);
  for (const svg of document.querySelectorAll("svg")) {
    if (svg.getAttribute("aria-hidden") === "true" || !svg.checkVisibility()) continue;
    const box = svg.getBoundingClientRect();
    const name = svg.querySelector("title")?.textContent;
    if (box.width < 200 || box.height < 40) out.push(`figure "${name}" is ${box.width}×${box.height}`);
    if (box.right > width + 1) out.push(`figure "${name}" is cut off`);
    if (!name || !svg.querySelector("desc")?.textContent) out.push("a figure has no title or description");
    const shapes = [...svg.querySelectorAll("path, rect, circle")].filter((p) => p.getBoundingClientRect().width > 5);
    if (shapes.length < 3) out.push(`figure "${name}" shows ${shapes.length} shapes`);
    for (const t of svg.querySelectorAll("text")) {
      const b = t.getBoundingClientRect();
      if (b.left < box.left - 1 || b.right > box.right + 1 || b.top < box.top - 1 || b.bottom > box.bottom + 1) {
        out.push(`figure "${name}": the text "${t.textContent}" is cut off`);
      }
      if (phone && document.querySelector("a.skip") && parseFloat(getComputedStyle(t).fontSize) * box.width / svg.viewBox.baseVal.width < 8.5) {
        out.push(`figure "${name}": the text "${t.textContent}" is too small on a phone`);
      }
    }
  }
  if (print) {
    for (const e of document.querySelectorAll("main *, header *")) {
      if (e.closest("svg")) continue;
      const b = e.getBoundingClientRect();
      if (b.width > 0 && b.right > width + 1) out.push(`<${e.localName}> "${e.textContent.trim().slice(0, 60)}" is cut off in print`);
    }
  }
  return out;
}

// keyboard walks through the page with the tab key alone.
async function keyboard(page) {
  const out = [];
  await page.keyboard.press("Tab");
  const first = await page.evaluate(() => document.activeElement?.className);
  if (first !== "skip") out.push("the first stop of the tab key is not the skip link");
  await page.keyboard.press("Enter");
  // The address changes a moment after the key.
  await page.waitForURL((url) => url.hash === "#released", { timeout: 10_000 }).catch(() => out.push("the skip link leads nowhere"));
  const dead = await page.evaluate(() => [...document.querySelectorAll("a[href^='#']")]
    .filter((a) => !document.querySelector(a.getAttribute("href"))).map((a) => a.href));
  for (const d of dead) out.push(`the link ${d} leads nowhere`);
  return out;
}
