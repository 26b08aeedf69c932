/** Names of sums of costs: the scopes and sources that hosts share, and the files of a host. */
import { randomUUID } from "node:crypto";
import { existsSync, linkSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensurePrivateDir } from "@pagurus/core/platform/atomic-files";
import { systemCode, writeFailure } from "../failures.ts";

/** Begins the scope of all sessions of an agent on a local date, `YYYY-MM-DD`. */
export const DAY = "day ";

/** The days on which a host's ledger has costs. */
export function days(agentDir: string): string[] {
  const folder = join(agentDir, "spend");
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => /^\d{4}-\d\d-\d\d\.jsonl$/.test(name))
    .map((name) => name.slice(0, -".jsonl".length))
    .toSorted();
}

/** Begins the scope of a session. */
export const SESSION = "session ";

/** The ledger of a session. */
export function sessionSpendFile(agentDir: string, sessionId: string): string {
  // An id that an engine chose may have any characters, and must not lead out of the folder.
  return join(agentDir, "sessions", `${encodeURIComponent(sessionId)}.spend.jsonl`);
}

/**
 * The source of what a host's own ledger has. Its name is in the ledger's folder, and no name of the machine: a container that is started
 * again with the same disk is the same source. Throws `store_write_failed`.
 */
export function ledgerSource(agentDir: string): string {
  const folder = join(agentDir, "spend");
  const file = join(folder, ".ledger-id");
  const present = readId(file);
  if (present !== undefined) return `ledger ${present}`;
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    ensurePrivateDir(folder);
    writeFileSync(temporary, randomUUID(), { mode: 0o600 });
    // Of two processes the first one names the ledger, and the other never reads a part of the name.
    linkSync(temporary, file);
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw writeFailure(error, file);
  } finally {
    rmSync(temporary, { force: true });
  }
  return `ledger ${readId(file) ?? ""}`;
}

function readId(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
