/** Converts a session file of another program into transcript lines, without a session of ours. */
import { closeSync, fstatSync, openSync } from "node:fs";
import { PagurusError } from "@pagurus/contract/errors";
import { readFailure } from "@pagurus/host/stores/files/failures";
import { detectFormat } from "./detect.ts";
import { openSource } from "./import-file.ts";
import { draw } from "./import-foreign.ts";

/** `pagurus`: the lines are transcript lines already, and none is passed on. */
export type DrawnFormat = "claude-code" | "codex" | "pi" | "pagurus";

/**
 * Detects the program that wrote a file and passes the conversation's entries to `write`; the last of them is its leaf. Undefined for a
 * file of no known program. Throws `import_invalid` for one without content, `store_read_failed`.
 */
export async function drawFile(
  path: string,
  write: (bytes: Uint8Array) => void,
): Promise<DrawnFormat | undefined> {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch (error) {
    throw readFailure(error, path);
  }
  try {
    const file = { fd, size: fstatSync(fd).size, path };
    const format = detectFormat(file);
    if (format === undefined || format === "pagurus") return format;
    if (format === "lcm") {
      throw new PagurusError(
        "import_invalid",
        `${path} is a database of several conversations; import it with pagurus sessions import, and name one of its sessions.`,
        { details: { file: path } },
      );
    }
    await draw(format, await openSource(format, file), Date.now(), write);
    return format;
  } finally {
    closeSync(fd);
  }
}
