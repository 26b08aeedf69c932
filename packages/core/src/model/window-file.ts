/** The windows of models that a home has learned, for its later processes: `learned-windows.json` in the home. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { toPagurusError } from "@pagurus/contract/errors";
import { recordOf } from "../data/record-fields.ts";
import { writeFileAtomic } from "../platform/atomic-files.ts";
import type { Logger } from "../platform/log.ts";
import { onLearnedWindow, recallWindow } from "./learned-windows.ts";

/** After this time a window is forgotten: a server may have been started again with a larger one. */
const KEPT_MS = 30 * 24 * 60 * 60 * 1_000;

interface Kept {
  tokens: number;
  /** When the server named it, ISO 8601. */
  at: string;
}

/** The windows of the file that are not too old; none if it is missing or cannot be read. */
function keptIn(file: string, now: number): Record<string, Kept> {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    // Nothing was learned yet.
    return {};
  }
  try {
    const entries = Object.entries(recordOf(JSON.parse(text))).flatMap(([key, value]): [string, Kept][] => {
      const { tokens, at } = recordOf(value);
      if (typeof tokens !== "number" || typeof at !== "string") return [];
      return now - Date.parse(at) < KEPT_MS ? [[key, { tokens, at }]] : [];
    });
    return Object.fromEntries(entries);
  } catch {
    // A file that a person has broken is replaced at the next window.
    return {};
  }
}

/**
 * Takes the windows that the home knows, and stores each that is learned from now on. Returns a function that ends the storing. Never
 * throws: a window that cannot be stored is learned again.
 */
export function keepLearnedWindows(home: string, logger: Logger, now = Date.now): () => void {
  const file = join(home, "learned-windows.json");
  for (const [key, { tokens }] of Object.entries(keptIn(file, now()))) recallWindow(key, tokens);
  return onLearnedWindow((key, tokens) => {
    try {
      const kept = keptIn(file, now());
      if ((kept[key]?.tokens ?? Infinity) <= tokens) return;
      const windows = { ...kept, [key]: { tokens, at: new Date(now()).toISOString() } };
      writeFileAtomic(file, `${JSON.stringify(windows, undefined, 2)}\n`);
    } catch (error) {
      logger.warn("learned window not stored", { code: toPagurusError(error).code });
    }
  });
}
