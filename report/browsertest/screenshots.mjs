// Takes pictures of reports: the first screen, a phone and the first printed page of each.
// node screenshots.mjs CHROMIUM FOLDER JOB=report.html...
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, folder, ...reports] = process.argv.slice(2);
const views = [
  { name: "first", width: 1200, height: 780, scale: 0.6, media: "screen" },
  { name: "phone", width: 390, height: 1400, scale: 0.75, media: "screen" },
  // What is left of A4 between the page's margins.
  { name: "print", width: 688, height: 1000, scale: 0.6, media: "print" },
];
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
try {
  for (const report of reports) {
    const [job, page] = report.split("=");
    for (const v of views) {
      const context = await browser.newContext({ viewport: { width: v.width, height: v.height }, deviceScaleFactor: v.scale });
      const tab = await context.newPage();
      await tab.emulateMedia({ media: v.media, colorScheme: "light" });
      await tab.goto(pathToFileURL(page).href);
      await tab.screenshot({ path: join(folder, `${job}-${v.name}.png`) });
      await context.close();
    }
  }
} finally {
  await browser.close();
}
