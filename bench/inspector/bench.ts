/**
 * `bench inspector`: a session of 10,000 messages with 1,000 captured requests in Debian's chromium: when the page is painted and can be
 * used, how many elements it has, how it scrolls, what the server needs.
 */
import { readFileSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { builtPackage } from "../serve/built-package.ts";
import { ServeProcess } from "../../test/server/serve-setting.ts";
import { openBrowser, openPage } from "../../test/real/inspector-setting.ts";
import { withPeer, withTarget, type BenchOptions, type BenchRow } from "../report.ts";
import { makeLongSession, SESSION, type LongSessionSize } from "./long-session.ts";

export const parts: readonly string[] = [];

const FULL: LongSessionSize = { messages: 8_000, turns: 1_000 };
const QUICK: LongSessionSize = { messages: 400, turns: 20 };
/** Sizes of the page's parts were measured before for these, with smaller data. */
const PEER = "Inspect AI, 127 MB";
const PEER_MS = 4_000;

function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024;
}

/** Measures that a page makes itself. */
const LONGEST_FRAME = `new Promise((done) => {
  const list = document.querySelector('[role="listbox"]');
  let [last, longest, steps] = [performance.now(), 0, 0];
  const frame = (now) => {
    longest = Math.max(longest, now - last);
    last = now;
    list.scrollTop += 400;
    if (++steps < 120) requestAnimationFrame(frame);
    else done(longest);
  };
  requestAnimationFrame((now) => { last = now; requestAnimationFrame(frame); });
})`;
const FIRST_PAINT = `performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1`;
const ELEMENTS = `document.querySelectorAll("*").length`;

interface Opened {
  page: Page;
  paintMs: number;
  rowsMs: number;
}

async function signIn(server: ServeProcess, browser: Browser): Promise<Page> {
  const { page } = await openPage(browser, { viewport: { width: 1200, height: 800 } });
  const { body } = await server.call("POST", "/api/v1/browser-codes", {});
  await page.goto(String(body["url"]));
  await page.getByRole("listbox", { name: "Sessions" }).waitFor();
  return page;
}

/** Opens the session's line of time as a fresh load of the page. */
async function opened(page: Page, url: string): Promise<Opened> {
  await page.goto("about:blank");
  const from = performance.now();
  await page.goto(`${url}/inspector/#/s/main/${SESSION}`);
  await page.getByRole("listbox", { name: "Line of time" }).getByRole("option").first().waitFor();
  const rowsMs = performance.now() - from;
  return { page, rowsMs, paintMs: Number(await page.evaluate(FIRST_PAINT)) };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

export async function run({ quick, log }: BenchOptions): Promise<BenchRow[]> {
  log("build");
  const built = await builtPackage();
  log("a session of turns");
  const { setting, bytes, messages } = await makeLongSession(quick ? QUICK : FULL);
  const browser = await openBrowser();
  let server: ServeProcess | undefined;
  try {
    server = await ServeProcess.start(setting, [], built.launcher);
    const pid = server.child.pid ?? 0;
    const page = await signIn(server, browser);
    const idle = residentMb(pid);
    log("the page");
    const first = await opened(page, server.url);
    const again = await opened(page, server.url);
    const elements = Number(await page.evaluate(ELEMENTS));
    const frame = Number(await page.evaluate(LONGEST_FRAME));
    await page.keyboard.press("Home");
    const request = await timed(async () => {
      await page.keyboard.press("Enter");
      await page.locator("[data-covered=true]").waitFor();
    });
    const inRequest = Number(await page.evaluate(ELEMENTS));
    const diff = await timed(async () => {
      await page.getByRole("link", { name: "Changes since the request before" }).press("Enter");
      await page.locator("[data-first-byte]").waitFor();
    });
    const memory = residentMb(pid) - idle;
    const ms = (measure: string, value: number): BenchRow => ({ measure, value, unit: "ms" });
    const megabytes = Math.round(bytes / 1e6);
    return [
      { measure: `${messages} messages, captures`, value: megabytes, unit: "MB" },
      withPeer(
        withTarget(ms("first rows of the session, server cold", first.rowsMs), "<=", 1_000),
        PEER,
        PEER_MS,
      ),
      withTarget(ms("first rows again", again.rowsMs), "<=", 1_000),
      withTarget(ms("first paint", again.paintMs), "<=", 300),
      withTarget({ measure: "elements", value: Math.max(elements, inRequest), unit: "nodes" }, "<=", 500),
      withTarget(ms("longest frame of 120 while scrolling", frame), "<=", 50),
      ms("opening the last request, all parts", request),
      ms("changes since the request before", diff),
      withTarget({ measure: "server over idle", value: memory, unit: "MB" }, "<=", 150),
    ];
  } finally {
    await server?.kill();
    await browser.close();
    setting.remove();
    built.remove();
  }
}
