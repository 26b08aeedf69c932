/** Folders of captured model requests. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import { writeReason } from "../platform/atomic-files.ts";

export function capturesDir(home: string): string {
  return join(home, "captures");
}

/** The folder of a session: readable for a person, different for each key and agent on any file system. */
export function captureFolder(home: string, agentId: string, sessionKey: string): string {
  const agent = agentId.toLowerCase();
  const hash = createHash("sha256").update(`${agent}\0${sessionKey}`).digest("hex").slice(0, 16);
  const readable = sessionKey.replace(/[^A-Za-z0-9_-]+/g, "-").slice(0, 40);
  return join(capturesDir(home), `${readable}.${hash}`);
}

/**
 * Deletes the captures of a session; `until` (ms since the epoch) spares those of a later session under the same key. Throws
 * `store_write_failed`.
 */
export function deleteCaptures(home: string, agentId: string, sessionKey: string, until = Infinity): void {
  const folder = captureFolder(home, agentId, sessionKey);
  try {
    if (until === Infinity) return rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    if (!existsSync(folder)) return;
    for (const name of readdirSync(folder)) {
      const file = join(folder, name);
      const written = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
      if (written <= until) rmSync(file, { recursive: true, force: true });
    }
  } catch (error) {
    throw new PagurusError(
      "store_write_failed",
      `The captured requests in ${folder} cannot be deleted: ${writeReason(error)}.`,
      { cause: error, details: { folder } },
    );
  }
}
