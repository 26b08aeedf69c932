/**
 * `bench inspector`: a session of 10,000 messages with 1,000 captured requests in Debian's chromium: when the page is painted and can be
 * used, how many elements it has, how it scrolls, what the server needs.
 */
import { readFileSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { share } from "./shares.ts";
import { builtPackage } from "../serve/built-package.ts";
import { ServeProcess } from "../../test/server/serve-setting.ts";
import { openBrowser, openPage } from "../../test/real/inspector-setting.ts";
import { withPeer, withTarget, type BenchOptions, type BenchRow } from "../report.ts";
import { liveTimes, type LiveSetting, type LiveTimes } from "./live.ts";
import { talkRows } from "./talk.ts";
import { makeLongSession, setModel, SESSION, type LongSessionSize } from "./long-session.ts";
import { startPacedModel } from "./paced-model.ts";
import { StoredTimes } from "./stored-times.ts";

/** `session`: opening and scrolling a long one; `live`: a turn as it happens; `talk`: a conversation as it happens, for long. */
export const parts = ["session", "live", "talk"] as const;

const FULL: LongSessionSize = { messages: 8_000, turns: 1_000 };
const QUICK: LongSessionSize = { messages: 400, turns: 20 };
/** Sizes of the page's parts were measured before for these, with smaller data. */
const PEER = "Inspect AI, 127 MB";
const PEER_MS = 4_000;
/** How often what another program on the machine delays is measured. */
const TIMES = 3;

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
  paintMs: number;
  rowsMs: number;
}

interface Bench extends Omit<LiveSetting, "session" | "stored"> {
  page: Page;
}

async function signIn(server: ServeProcess, browser: Browser): Promise<Page> {
  const { page } = await openPage(browser, { viewport: { width: 1200, height: 800 } });
  const { body } = await server.call("POST", "/api/v1/browser-codes", {});
  await page.goto(String(body["url"]));
  await page.getByRole("link", { name: "New conversation" }).waitFor();
  return page;
}

/** Opens a session's line of time as a fresh load of the page. */
async function opened(page: Page, url: string, session = SESSION): Promise<Opened> {
  await page.goto("about:blank");
  const from = performance.now();
  await page.goto(`${url}/inspector/#/s/main/${session}`);
  await page.getByRole("listbox", { name: "Line of time" }).getByRole("option").first().waitFor();
  const rowsMs = performance.now() - from;
  return { rowsMs, paintMs: Number(await page.evaluate(FIRST_PAINT)) };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

const ms = (measure: string, value: number): BenchRow => ({ measure, value, unit: "ms" });

async function sessionRows({ server, page }: Bench, log: (line: string) => void): Promise<BenchRow[]> {
  log("the page");
  const pid = server.child.pid ?? 0;
  const idle = residentMb(pid);
  const first = await opened(page, server.url);
  await allRead(page);
  const again: Opened[] = [];
  const frames: number[] = [];
  for (let time = 0; time < TIMES; time++) {
    again.push(await opened(page, server.url));
    await allRead(page);
    frames.push(Number(await page.evaluate(LONGEST_FRAME)));
  }
  const elements = Number(await page.evaluate(ELEMENTS));
  const best = (values: readonly number[]): number => Math.min(...values);
  const requests: number[] = [];
  for (let back = 0; back < TIMES; back++) requests.push(await openingMs(page, back));
  const inRequest = Number(await page.evaluate(ELEMENTS));
  const diff = await timed(async () => {
    await page.getByRole("link", { name: "Changes since the request before" }).press("Enter");
    await page.locator("[data-first-byte]").waitFor();
  });
  const memory = residentMb(pid) - idle;
  return [
    withPeer(
      withTarget(ms("first rows of the session, server cold", first.rowsMs), "<=", 1_000),
      PEER,
      PEER_MS,
    ),
    withTarget(
      ms(`first rows again, best of ${TIMES}`, best(again.map(({ rowsMs }) => rowsMs))),
      "<=",
      1_000,
    ),
    withTarget(ms(`first paint, best of ${TIMES}`, best(again.map(({ paintMs }) => paintMs))), "<=", 300),
    withTarget({ measure: "elements", value: Math.max(elements, inRequest), unit: "nodes" }, "<=", 500),
    withTarget(ms(`longest frame of 120 while scrolling, best of ${TIMES}`, best(frames)), "<=", 50),
    withTarget(
      ms(`opening one of the last requests, all parts, best of ${TIMES}`, best(requests)),
      "<=",
      1_000,
    ),
    ms("changes since the request before", diff),
    withTarget({ measure: "server over idle", value: memory, unit: "MB" }, "<=", 150),
  ];
}

/** How long it takes to open the request that is so many before the last one, whose parts the server does not have yet. */
async function openingMs(page: Page, back: number): Promise<number> {
  if (back > 0) await page.keyboard.press("Escape");
  await page.getByRole("listbox", { name: "Line of time" }).getByRole("option").first().waitFor();
  await page.keyboard.press("Home");
  // Each turn has one request.
  for (let step = 0; step < 2 * back; step++) await page.keyboard.press("ArrowDown");
  return timed(async () => {
    await page.keyboard.press("Enter");
    await page.locator("[data-covered=true]").waitFor();
  });
}

function timesRows(name: string, { words, requests, events }: LiveTimes): BenchRow[] {
  const rowsOf = (what: string, values: readonly number[]): BenchRow[] => [
    ms(`${name}: ${what}, p50 of ${values.length}`, share(values, 0.5)),
    withTarget(ms(`${name}: ${what}, p95`, share(values, 0.95)), "<=", 100),
  ];
  return [
    { measure: `${name}: events of the turn`, value: events, unit: "events" },
    ...rowsOf("words on the page", words),
    ...rowsOf("requests on the line of time", requests),
  ];
}

async function liveRows(bench: Bench, log: (line: string) => void): Promise<BenchRow[]> {
  const { server, page, model } = bench;
  const stored = new StoredTimes(server.setting.home);
  const rows: BenchRow[] = [];
  try {
    for (const [name, session] of [
      ["a new session", "new"],
      ["the long session", SESSION],
    ] as const) {
      log(`a live turn in ${name}`);
      if (session !== SESSION) await firstTurn(server, session);
      await opened(page, server.url, session);
      await allRead(page);
      // The login may chat, which the page knows when events come.
      await page.locator("#message").waitFor();
      rows.push(...timesRows(name, await liveTimes(page, { server, model, stored, session })));
    }
  } finally {
    stored.close();
  }
  return rows;
}

/** Resolves when the whole line of time has been read. */
async function allRead(page: Page): Promise<void> {
  await page.getByText(/\d items, newest first/).waitFor();
}

async function firstTurn(server: ServeProcess, session: string): Promise<void> {
  const { body } = await server.call("POST", `/api/v1/sessions/${session}/turns`, { prompt: "Begin." });
  await server.ended(String(body["id"]));
}

export async function run({ quick, log, only }: BenchOptions): Promise<BenchRow[]> {
  log("build");
  const built = await builtPackage();
  log("a session of turns");
  const { setting, bytes, messages } = await makeLongSession(quick ? QUICK : FULL);
  const model = await startPacedModel();
  setModel(setting, model.url);
  const browser = await openBrowser();
  let server: ServeProcess | undefined;
  try {
    server = await ServeProcess.start(setting, [], built.launcher);
    const bench = { server, model, page: await signIn(server, browser) };
    return [
      { measure: `${messages} messages, captures`, value: Math.round(bytes / 1e6), unit: "MB" },
      ...(only === undefined || only === "session" ? await sessionRows(bench, log) : []),
      ...(only === undefined || only === "live" ? await liveRows(bench, log) : []),
      ...(only === undefined || only === "talk" ? await talkRows({ ...bench, quick, log }) : []),
    ];
  } finally {
    await server?.kill();
    await browser.close();
    await model.close();
    setting.remove();
    built.remove();
  }
}
