/** The longest task of a page's main thread in CPU time, which other programs on the machine do not lengthen as they do a frame. */
import type { Page } from "playwright-core";

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  /** CPU time, microseconds. */
  tdur?: number;
  args?: { name?: string };
}

/** While `work` runs, ms. Throws where the browser reports no CPU time. */
export async function longestTaskMs(page: Page, work: () => Promise<unknown>): Promise<number> {
  const browser = page.context().browser();
  if (!browser) throw new Error("The page has no browser to trace.");
  await browser.startTracing(page, { categories: ["toplevel"] });
  await work();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString("utf8")) as {
    traceEvents: TraceEvent[];
  };
  const mains = new Set(
    traceEvents
      .filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain")
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const times = traceEvents
    .filter(({ ph, pid, tid }) => ph === "X" && mains.has(`${pid} ${tid}`))
    .flatMap(({ tdur }) => tdur ?? []);
  if (times.length === 0) throw new Error("The trace of the browser has no CPU time of the page's thread.");
  return Math.max(...times) / 1_000;
}
