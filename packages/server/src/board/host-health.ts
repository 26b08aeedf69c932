/** How the server is: memory, disk, captures, the oldest work, and a sentence for each thing that needs a person. */
import { readdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { captureSettings } from "@pagurus/gateway/capture/capture-settings";
import { capturesDir } from "@pagurus/core/config/captures";
import { loadFor } from "@pagurus/core/config/load-config";
import { defined } from "@pagurus/core/data/defined";
import type { Health } from "@pagurus/api/types";

/** Free bytes below which the disk is a problem. */
const FEW_BYTES = 500_000_000;
/** Age of waiting work that is a problem, s. */
const OLD_WORK_S = 15 * 60;
/** How long the size of the captures is not measured again, ms. */
const SIZE_FRESH_MS = 10_000;

export interface HealthOptions {
  facts: { version: string; home: string; startedAt: string };
  env: Readonly<Record<string, string | undefined>>;
}

/** The open work that was posted first. */
export interface OldestWork {
  /** Milliseconds since the epoch. */
  postedAt: number;
  session: string;
  /** Whether a permission question of it is open. */
  isAsking: boolean;
}

function oldSentence({ session, isAsking }: OldestWork, minutes: number): string {
  return isAsking
    ? `The oldest work, of session ${session}, waits for an answer and was posted ${minutes} minutes ago; allow or deny it under Questions.`
    : `The oldest work, of session ${session}, has been open for ${minutes} minutes; stop it if it hangs.`;
}

export class HostHealth {
  readonly #options: HealthOptions;
  #measured: { at: number; bytes: number } | undefined;

  constructor(options: HealthOptions) {
    this.#options = options;
  }

  async report(oldest: OldestWork | undefined): Promise<Health> {
    const { facts, env } = this.#options;
    const { rss, heapUsed } = process.memoryUsage();
    const age = oldest === undefined ? 0 : Math.max(0, (Date.now() - oldest.postedAt) / 1_000);
    const [freeBytes, bytes] = await Promise.all([freeOf(facts.home), this.#captureBytes()]);
    const { config, warnings } = loadFor({ onlyLook: true }, facts.home);
    const problems = [...warnings];
    const kept = captureSettings(config, env);
    if (freeBytes !== undefined && freeBytes < FEW_BYTES)
      problems.push(`The disk of ${facts.home} has ${Math.round(freeBytes / 1_000_000)} MB left.`);
    if (oldest && age > OLD_WORK_S) problems.push(oldSentence(oldest, Math.round(age / 60)));
    return {
      version: facts.version,
      startedAt: facts.startedAt,
      memoryBytes: rss,
      heapBytes: heapUsed,
      captures: { isOn: kept !== undefined, bytes, ...defined({ maxBytes: kept?.maxBytes }) },
      oldestWorkSeconds: Math.round(age),
      problems,
      ...defined({ freeBytes }),
    };
  }

  async #captureBytes(): Promise<number> {
    const now = performance.now();
    if (this.#measured && now - this.#measured.at < SIZE_FRESH_MS) return this.#measured.bytes;
    const bytes = await bytesBelow(capturesDir(this.#options.facts.home));
    this.#measured = { at: now, bytes };
    return bytes;
  }
}

async function freeOf(folder: string): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch {
    // A file system that does not say.
    return undefined;
  }
}

async function bytesBelow(root: string): Promise<number> {
  // There is no folder before the first capture; a file may be removed while it is counted.
  const names = await readdir(root, { recursive: true }).catch(() => []);
  let sum = 0;
  for (const name of names) {
    const found = await stat(join(root, name)).catch(() => undefined);
    if (found?.isFile() === true) sum += found.size;
  }
  return sum;
}
