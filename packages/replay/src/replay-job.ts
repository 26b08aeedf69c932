/** A replay of files with engines, session after session: each is in memory alone. */
import { basename } from "node:path";
import { isPagurusError, PagurusError, toPagurusError } from "@pagurus/contract/errors";
import { Pace } from "@pagurus/core/platform/pace";
import { messageTokens } from "@pagurus/core/tokens/message-tokens";
import { readSession, type ReadSession } from "./read-session.ts";
import type { ReplayedSession } from "./replay-figures.ts";
import { prepareSession, replaySession, type ReplayCounts } from "./replay-session.ts";
import type { ReplayedEngine } from "./replayed-engine.ts";

/** `engine`: its key. */
export type ReplayNews =
  | { type: "session"; file: string; session: ReplayedSession }
  | { type: "left-out"; file: string; why: string }
  | { type: "progress"; file: string; engine: string; share: number }
  | { type: "counts"; file: string; engine: string; counts: ReplayCounts };

export interface FilesToReplay {
  files: readonly string[];
  /** Those of the files that are also replayed with five compactions. */
  compacted: ReadonlySet<string>;
  engines: readonly ReplayedEngine[];
  window: number;
  /** Items of a kind that are looked for in one session after a number of compactions. */
  most: number;
  signal: AbortSignal;
  onNews(news: ReplayNews): void;
}

/** Least time between two reports of progress, ms. */
const REPLAY_PROGRESS_MS = 100;

/** Throws `engine_failed` with the session, `turn_aborted`, `store_read_failed`. */
export async function replayFiles(job: FilesToReplay): Promise<void> {
  const { engines, window, most, signal, onNews } = job;
  const pace = new Pace(signal);
  for (const file of job.files) {
    const read = await readable(file, pace);
    if (typeof read === "string") {
      onNews({ type: "left-out", file, why: read });
      continue;
    }
    onNews({ type: "session", file, session: aboutOf(file, read) });
    const { items, ...others } = await prepareSession(read, pace);
    const prepared = { ...others, items: job.compacted.has(file) ? items : [] };
    for (const engine of engines) {
      const onProgress = throttled((share) => onNews({ type: "progress", file, engine: engine.key, share }));
      try {
        const counts = await replaySession(engine, prepared, { window, most, pace, signal, onProgress });
        onNews({ type: "counts", file, engine: engine.key, counts });
      } catch (error) {
        throw failureOf(error, engine.id, file);
      }
    }
  }
}

/** The session, or why the file is left out. */
async function readable(file: string, pace: Pace): Promise<ReadSession | string> {
  try {
    return (await readSession(file, pace)) ?? "it has no model call of a known program";
  } catch (error) {
    if (!isPagurusError(error) || error.code !== "import_invalid") throw error;
    return error.message;
  }
}

function aboutOf(file: string, { format, calls, messages, isShortened }: ReadSession): ReplayedSession {
  const tokens = messages.reduce((sum, message) => sum + messageTokens(message), 0);
  const about = { file: basename(file), format, calls: calls.length, messages: messages.length };
  return { ...about, tokens, isShortened };
}

function throttled(report: (share: number) => void): (share: number) => void {
  let last = 0;
  return (share) => {
    const now = performance.now();
    if (share < 1 && now - last < REPLAY_PROGRESS_MS) return;
    last = now;
    report(share);
  };
}

function failureOf(error: unknown, engine: string, file: string): PagurusError {
  const { code, message } = toPagurusError(error);
  if (code === "turn_aborted") return toPagurusError(error);
  return new PagurusError(
    "engine_failed",
    `The engine ${engine} failed in a replay of ${basename(file)}: ${message}`,
    { cause: error },
  );
}
