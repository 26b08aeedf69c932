/**
 * How soon a live turn is on the page: each event that has words or begins a request, from when the server stored it to when the document
 * shows it. The page and the server read one clock, that of the machine.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Page } from "playwright-core";
import type { ServeProcess } from "../../test/server/serve-setting.ts";
import type { PacedModel } from "./paced-model.ts";
import type { StoredTimes } from "./stored-times.ts";

export interface LiveTimes {
  /** Of each event with words of the answer, ms. */
  words: number[];
  /** Of each request, ms: it is a row of the line of time. */
  requests: number[];
  /** All events of the turn. */
  events: number;
}

export interface LiveSetting {
  server: ServeProcess;
  model: PacedModel;
  stored: StoredTimes;
  session: string;
}

const TURN = { requests: 30, pieces: 12, everyMs: 20 };
const MOST_MS = 10_000;
const LOOK_MS = 50;

/** Notes when each word and each request is in the document first; `words`: selector of the element with the answer. */
const watch = (words: string): string => `(() => {
  const seen = globalThis.seenAt = {};
  const rows = new Set();
  for (const row of document.querySelectorAll("[data-key]")) rows.add(row.dataset.key);
  new MutationObserver(() => {
    const now = performance.timeOrigin + performance.now();
    const words = document.querySelector("${words}")?.textContent ?? "";
    for (const [name] of words.matchAll(/w\\d+\\.\\d+(?= )/g)) seen[name] ??= now;
    for (const { dataset: { key } } of document.querySelectorAll('[data-key^="q"]')) {
      if (rows.has(key)) continue;
      rows.add(key);
      seen["q" + key.slice(key.lastIndexOf(".") + 1)] ??= now;
    }
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
})()`;

/** When each name was seen, ms since the epoch, once all are. Throws where that takes too long. */
async function allSeen(page: Page, names: readonly string[]): Promise<(name: string) => number> {
  for (const until = Date.now() + MOST_MS; ; await pause(LOOK_MS)) {
    const seen = (await page.evaluate("globalThis.seenAt")) as Record<string, number>;
    const missing = names.filter((name) => seen[name] === undefined);
    if (missing.length === 0) return (name) => seen[name] ?? Number.NaN;
    if (Date.now() > until) throw new Error(`Of the live turn the page did not show ${missing.join(", ")}.`);
  }
}

/** `time`: the line of time, which has requests too; `talk`: the conversation. */
export type LiveView = "time" | "talk";

/** Runs a turn in a session whose page is open at its beginning, or whose conversation is. Throws where something of it is not shown. */
export async function liveTimes(
  page: Page,
  { server, model, stored, session }: LiveSetting,
  view: LiveView = "time",
): Promise<LiveTimes> {
  await page.evaluate(watch(view === "time" ? ".live" : "[role=log]"));
  model.begin(TURN);
  const { body } = await server.call("POST", `/api/v1/sessions/${session}/turns`, { prompt: "Look." });
  const work = String(body["id"]);
  await server.ended(work);
  const events = stored.of(work);
  const words = events.flatMap(({ type, data, at }) => {
    // The last word of an event is shown with the others.
    const [name] = type === "text.delta" ? String(data["delta"]).trim().split(" ").slice(-1) : [];
    return name === undefined ? [] : [{ name, at }];
  });
  const requests = events.flatMap(({ type, data, at }) =>
    type === "model.request" && view === "time" ? [{ name: `q${String(data["request"])}`, at }] : [],
  );
  const seenAt = await allSeen(
    page,
    [...words, ...requests].map(({ name }) => name),
  );
  const timesOf = (all: readonly { name: string; at: number }[]): number[] =>
    all.map(({ name, at }) => seenAt(name) - at);
  return { words: timesOf(words), requests: timesOf(requests), events: events.length };
}
