/** Finds the session files that a path or a session key names. Nothing is written. */
import { closeSync, fstatSync, openSync, readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import { attempt } from "@pagurus/core/data/attempt";
import { readKey } from "@pagurus/host/stores/files/key-file";
import { sessionPaths, TRANSCRIPT_SUFFIX } from "@pagurus/host/stores/files/session-paths";
import { parseHeader } from "@pagurus/host/stores/files/transcript/transcript-entry";
import { linesForward } from "@pagurus/host/stores/files/transcript/transcript-lines";

export interface SessionFile {
  path: string;
  bytes: number;
}

/** Files of one replay at most: of more the newest ones are taken. */
const MOST_FILES = 2_000;
/** Files beside transcripts that have no messages. */
const NO_TRANSCRIPT = /\.receipts\.jsonl$/;

/** The file itself, or the `.jsonl` files of a folder and those below it; undefined where there is neither. */
export function filesAt(path: string): SessionFile[] | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats) return undefined;
  if (!stats.isDirectory()) return [{ path, bytes: stats.size }];
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    const file = join(entry.parentPath, entry.name);
    if (!entry.isFile() || !file.endsWith(TRANSCRIPT_SUFFIX) || NO_TRANSCRIPT.test(file)) return [];
    const about = statSync(file, { throwIfNoEntry: false });
    return about && about.size > 0 ? [{ path: file, bytes: about.size, changed: about.mtimeMs }] : [];
  });
  return files
    .toSorted((a, b) => b.changed - a.changed)
    .slice(0, MOST_FILES)
    .map(({ path: file, bytes }) => ({ path: file, bytes }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** The transcript of a session key in an agent's folder. Throws `session_not_found`. */
export function fileOfKey(agentDir: string, key: string): SessionFile {
  const folder = join(agentDir, "sessions");
  const names = attempt(() => readdirSync(folder)) ?? [];
  const found = names
    .filter((name) => name.endsWith(TRANSCRIPT_SUFFIX) && !NO_TRANSCRIPT.test(name))
    .flatMap((name) => {
      const path = join(folder, name);
      const header = attempt(() => headerOf(path));
      const own = attempt(() => readKey(sessionPaths(folder, basename(name, TRANSCRIPT_SUFFIX)).key));
      return header && (own ?? header.key) === key ? [{ path, ...header }] : [];
    })
    // Several conversations had the key; the last one has it now.
    .toSorted((a, b) => b.order - a.order);
  const [newest] = found;
  if (newest) return { path: newest.path, bytes: newest.bytes };
  throw new PagurusError(
    "session_not_found",
    `There is no file, folder or session ${JSON.stringify(key)}; name a session file, a folder of them, or a key that pagurus sessions list shows.`,
  );
}

function headerOf(path: string): { key: string | undefined; order: number; bytes: number } | undefined {
  const fd = openSync(path, "r");
  try {
    const { size } = fstatSync(fd);
    for (const { bytes } of linesForward(fd, 0, size)) {
      const header = parseHeader(bytes);
      if (!header) return undefined;
      return { key: header.key, order: header.precedence ?? header.generation ?? 0, bytes: size };
    }
    return undefined;
  } finally {
    closeSync(fd);
  }
}
