// Lighthouse over pages of somebody who is signed in: accessibility and best practices.
//
// It reads {"chromium": path, "base": url, "cookies": [{"name", "value"}], "pages": [{"path", "phone",
// "theme", "language", "missing"}]} from standard input, and writes one line of JSON for each page:
// {"path", "phone", "theme", "language", "scores": {category: 0–100}, "failed": ["audit: title: where"],
// "error"}. `missing` is a page that answers with an error: its status is no fault then.
//
//   EVERTHREAD_TEST_AIMOCK=$(scripts/peers.sh) node e2e/peers/lighthouse.mjs < asked.json

import { createRequire } from "node:module";
import { realpathSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { text } from "node:stream/consumers";

const need = createRequire(realpathSync(process.env.EVERTHREAD_TEST_AIMOCK));
const { default: lighthouse } = await import(pathToFileURL(need.resolve("lighthouse")));
const puppeteer = need("puppeteer-core");

const asked = JSON.parse(await text(process.stdin));
const browser = await puppeteer.launch({
  executablePath: asked.chromium,
  headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
// A window as high as the page: what is half below a bar, as somebody scrolls, is no small target.
const phone = { mobile: true, width: 360, height: 12000, deviceScaleFactor: 2, disabled: false };
const desktop = { mobile: false, width: 1350, height: 12000, deviceScaleFactor: 1, disabled: false };

function settings(one) {
  return {
    onlyCategories: ["accessibility", "best-practices"],
    skipAudits: one.missing ? ["errors-in-console"] : null,
    formFactor: one.phone ? "mobile" : "desktop",
    screenEmulation: one.phone ? phone : desktop,
    throttlingMethod: "simulate", // of its load, which is not asked for: nothing is slowed down
    disableStorageReset: true,
    disableFullPageScreenshot: true,
    ignoreStatusCode: Boolean(one.missing),
    skipAboutBlank: true,
    maxWaitForLoad: 10000,
    networkQuietThresholdMs: 100,
    cpuQuietThresholdMs: 0,
    pauseAfterFcpMs: 0,
    pauseAfterLoadMs: 0,
    extraHeaders: { "Accept-Language": one.language },
  };
}

async function look(page, one) {
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: one.theme }]);
  const config = { extends: "lighthouse:default", settings: settings(one) };
  const { lhr } = await lighthouse(asked.base + one.path, { logLevel: "error", output: "json" }, config, page);
  const scores = {}, failed = [];
  let broken = Boolean(lhr.runtimeError);
  for (const [name, category] of Object.entries(lhr.categories)) {
    scores[name] = Math.round((category.score ?? 0) * 100);
    for (const { id, weight } of category.auditRefs) {
      const audit = lhr.audits[id];
      if (audit.scoreDisplayMode === "error") {
        broken = true;
        failed.push(`${id}: ${audit.errorMessage}`);
      }
      if (!weight || audit.score === null || audit.score === 1) continue;
      const where = (audit.details?.items ?? []).slice(0, 3).map((x) => x.node?.snippet ?? JSON.stringify(x)).join(" ");
      failed.push(`${id}: ${audit.title}: ${where}`.slice(0, 600));
    }
  }
  return { scores, failed, broken, error: lhr.runtimeError?.message };
}

try {
  await browser.setCookie(...asked.cookies.map((c) => ({ ...c, domain: new URL(asked.base).hostname, path: "/" })));
  for (const one of asked.pages) {
    let found;
    // Again, where the browser was too slow, or the page still being laid out: what is wrong with it stays so.
    for (let tries = 3; tries > 0 && (!found || found.broken || found.failed?.length); tries--) {
      const page = await browser.newPage();
      // The page for when there is no connection would leave, as there is one.
      if (one.path === "/offline") await page.evaluateOnNewDocument(() => { window.fetch = () => new Promise(() => {}); });
      found = await look(page, one).catch((e) => ({ broken: true, error: String(e) }));
      await page.close();
    }
    process.stdout.write(JSON.stringify({ ...one, ...found }) + "\n");
  }
} finally {
  await browser.close();
}
