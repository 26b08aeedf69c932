/** Folders of captured model requests. */
import { createHash } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { PagurusError } from "../contract/errors.ts";
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

/** Deletes all captures of a session. Throws `store_write_failed`. */
export function deleteCaptures(home: string, agentId: string, sessionKey: string): void {
  const folder = captureFolder(home, agentId, sessionKey);
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  } catch (error) {
    throw new PagurusError(
      "store_write_failed",
      `The captured requests in ${folder} cannot be deleted: ${writeReason(error)}.`,
      { cause: error, details: { folder } },
    );
  }
}
