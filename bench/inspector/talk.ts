/** A conversation as it happens: how soon each word is shown, the frames meanwhile, and the memory of the tab after an hour's words. */
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import type { ServeProcess } from "../../test/server/serve-setting.ts";
import { withTarget, type BenchRow } from "../report.ts";
import { liveTimes } from "./live.ts";
import { SESSION } from "./long-session.ts";
import type { PacedModel } from "./paced-model.ts";
import { longestTaskMs } from "./page-tasks.ts";
import { share } from "./shares.ts";
import { StoredTimes } from "./stored-times.ts";

export interface TalkBench {
  server: ServeProcess;
  page: Page;
  model: PacedModel;
  quick: boolean;
  log(line: string): void;
}

/** An hour of 50 pieces a second, in turns of ten minutes, written as fast as they are read. */
const HOUR = { turns: 6, requests: 30, pieces: 1_000 };
const QUICK_HOUR = { turns: 2, requests: 5, pieces: 200 };
const TIMES = 3;
/** Frames in which a person scrolls through a conversation. */
const SCROLL_STEPS = 120;

const ms = (measure: string, value: number): BenchRow => ({ measure, value, unit: "ms" });

const SCROLL = `new Promise((done) => {
  const list = document.querySelector("[role=log]");
  let steps = 0;
  const frame = () => {
    list.scrollTop -= 300;
    if (++steps < ${SCROLL_STEPS}) requestAnimationFrame(frame);
    else done();
  };
  requestAnimationFrame(frame);
})`;

async function opened(page: Page, { url }: ServeProcess, session: string): Promise<number> {
  await page.goto("about:blank");
  const from = performance.now();
  await page.goto(`${url}/inspector/#/talk/main/${session}`);
  await page.locator(".talk-row").first().waitFor();
  await page.getByRole("textbox", { name: "Message" }).waitFor();
  return performance.now() - from;
}

/** What the process of the tab has for itself, MB. */
async function tabMb(page: Page): Promise<number> {
  const client = await page.context().newCDPSession(page);
  await client.send("HeapProfiler.collectGarbage");
  await client.detach();
  const browser = await page.context().browser()?.newBrowserCDPSession();
  const { processInfo } = (await browser?.send("SystemInfo.getProcessInfo")) ?? { processInfo: [] };
  await browser?.detach();
  const own = processInfo.filter(({ type }) => type === "renderer").map(({ id }) => privateMb(id));
  return Math.max(...own);
}

function privateMb(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const kb = [...text.matchAll(/^Private_\w+:\s+(\d+) kB/gm)].map(([, value]) => Number(value));
  return kb.reduce((sum, value) => sum + value, 0) / 1_024;
}

/** Runs turns of so many words with the conversation open, and waits until their last word is shown. */
async function anHour({ server, page, model }: TalkBench, session: string, size: typeof HOUR): Promise<void> {
  for (let turn = 0; turn < size.turns; turn++) {
    model.begin({ requests: size.requests, pieces: size.pieces, everyMs: 0 });
    const { body } = await server.call("POST", `/api/v1/sessions/${session}/turns`, {
      prompt: `Go ${turn}.`,
    });
    await server.ended(String(body["id"]));
    await page
      .getByText(`w${size.requests - 1}.${size.pieces - 1}`)
      .first()
      .waitFor();
  }
}

export async function talkRows(bench: TalkBench): Promise<BenchRow[]> {
  const { server, page, model, quick, log } = bench;
  const stored = new StoredTimes(server.setting.home);
  const rows: BenchRow[] = [];
  page.setDefaultTimeout(120_000);
  try {
    log("the conversation of a long session");
    const openings: number[] = [];
    const scrolls: number[] = [];
    for (let time = 0; time < TIMES; time++) {
      openings.push(await opened(page, server, SESSION));
      scrolls.push(await longestTaskMs(page, () => page.evaluate(SCROLL)));
    }
    const elements = Number(await page.evaluate(`document.querySelectorAll("*").length`));
    rows.push(
      withTarget(ms(`conversation can be used, best of ${TIMES}`, Math.min(...openings)), "<=", 1_000),
      withTarget({ measure: "elements of the conversation", value: elements, unit: "nodes" }, "<=", 600),
      withTarget(ms(`longest task while scrolling, CPU, best of ${TIMES}`, Math.min(...scrolls)), "<=", 50),
    );
    log("words as they come");
    const frames: number[] = [];
    const words: number[] = [];
    for (let time = 0; time < TIMES; time++) {
      await opened(page, server, SESSION);
      const turn = async (): Promise<void> => {
        words.push(...(await liveTimes(page, { server, model, stored, session: SESSION }, "talk")).words);
      };
      frames.push(await longestTaskMs(page, turn));
    }
    rows.push(
      ms(`conversation: words on the page, p50 of ${words.length}`, share(words, 0.5)),
      withTarget(ms("conversation: words on the page, p95", share(words, 0.95)), "<=", 100),
      withTarget(ms(`longest task while words come, CPU, best of ${TIMES}`, Math.min(...frames)), "<=", 50),
    );
    log("an hour's words");
    await anHour(bench, SESSION, quick ? QUICK_HOUR : HOUR);
    rows.push(
      withTarget(
        { measure: "the tab after an hour's words", value: await tabMb(page), unit: "MB" },
        "<=",
        150,
      ),
    );
  } finally {
    stored.close();
  }
  return rows;
}
