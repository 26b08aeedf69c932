import { errorText } from "@pagurus/core/data/error-text";
import { closeSync, existsSync, openSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { openSqlite } from "@pagurus/core/data/sqlite";
import { pendingDeletions, type PendingDeletion } from "@pagurus/core/platform/deletions";
import { foreignHeader, parseHeader } from "@pagurus/host/stores/files/transcript/transcript-entry";
import { setAsideIndex } from "@pagurus/host/stores/files/index/index-aside";
import { indexRemedy } from "@pagurus/host/stores/files/index/index-db";
import { readKey } from "@pagurus/host/stores/files/key-file";
import { isOwnId, isSessionId, recoveredKey } from "@pagurus/host/stores/files/keys";
import { readAt } from "@pagurus/host/stores/files/transcript/transcript-lines";
import { sessionPaths, TRANSCRIPT_SUFFIX } from "@pagurus/host/stores/files/session-paths";
import { checkLocks, deadOwner } from "./dead-locks.ts";
import type { Finding } from "./finding.ts";

/** Maximum length of a first line; a header is a few hundred bytes. */
const HEADER_MAX_BYTES = 64 * 1024;

/**
 * Checks the transcripts and the index of each agent. Reads only the heads of files; with `fix`, sets a damaged index aside and
 * removes dead locks.
 */
export function checkStore(home: string, fix: boolean): Finding[] {
  const agents = join(home, "agents");
  if (!existsSync(agents)) return [{ level: "info", check: "store", detail: "There are no sessions yet." }];
  return readdirSync(agents, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .toSorted()
    .flatMap((agentId) => checkAgent(agentId, join(agents, agentId), fix));
}

function checkAgent(agentId: string, folder: string, fix: boolean): Finding[] {
  const sessions = join(folder, "sessions");
  const names = existsSync(sessions) ? readdirSync(sessions).toSorted() : [];
  const transcripts = names.filter(isTranscript);
  const index = join(folder, "sessions.db");
  const broken = transcripts.flatMap((name) => checkTranscript(sessions, name, index));
  const setAside = names.flatMap((name) => checkSetAside(agentId, join(sessions, name), name));
  const lockFiles = names.filter((name) => name.endsWith(".lock")).map((name) => join(sessions, name));
  // The owner of a live lock may be writing to the index.
  const mayFix = fix && lockFiles.every((file) => deadOwner(file) !== undefined);
  const sound = checkIndex(agentId, index, mayFix);
  const engine = checkLossless(agentId, join(folder, "lossless.db"), mayFix);
  const isIndexSound = sound.every(({ level }) => level !== "warn");
  // Their removal reads the index, which is rebuilt where it was damaged.
  const locks = checkLocks({ id: agentId, folder, isIndexSound }, lockFiles, fix);
  const detail = `Agent ${agentId}: ${transcripts.length - broken.length} of ${transcripts.length} transcripts have a good header.`;
  return [
    { level: broken.length === 0 ? "ok" : "info", check: "store", detail },
    ...broken,
    ...setAside,
    ...locks,
    ...sound,
    ...engine,
    ...pendingDeletions(folder).map((left) => deletionFinding(agentId, left)),
  ];
}

/** What a crash left of a deletion, after the host was opened, which finishes what it can. */
function deletionFinding(agentId: string, { sessions, isBegun }: PendingDeletion): Finding {
  const keys = [...new Set(sessions.map(({ key, id }) => (key === "" ? id : key)))].join(", ");
  const where = isBegun
    ? "its transcripts may still be there"
    : "its words may still be in a store beside the transcripts";
  return {
    level: "warn",
    check: "store",
    detail: `Agent ${agentId}: the deletion of ${keys} is not finished; ${where}.`,
    fix: "End the programs that use the session or its store, and run pagurus doctor again: it finishes the deletion.",
  };
}

/** Files beside a transcript: receipts, an engine's copy, costs. */
const COMPANION = /\.(receipts|mirror|spend)\.jsonl$/;

function isTranscript(name: string): boolean {
  return name.endsWith(TRANSCRIPT_SUFFIX) && !COMPANION.test(name);
}

function checkTranscript(sessions: string, name: string, index: string): Finding[] {
  const id = name.slice(0, -TRANSCRIPT_SUFFIX.length);
  const file = join(sessions, name);
  const finding = (level: Finding["level"], detail: string, fix: string): Finding[] => [
    { level, check: "store", detail, fix },
  ];
  const line = readFirstLine(file);
  if (!isSession(sessions, id, line)) {
    const fix = "Import it with pagurus sessions import, or move it out of the folder.";
    return finding("warn", `${file} is not named after a session, so it is never opened.`, fix);
  }
  if (line === undefined) {
    const fix = "Make it readable for you, or put it back from a backup.";
    return finding("error", `${file} cannot be read, so its session cannot be opened.`, fix);
  }
  const header = parseHeader(line);
  if (header?.id === id) return [];
  if (header) {
    const fix = "Remove the copy if it is one; pagurus sessions fork makes a copy of its own.";
    return finding("warn", `${file} has the header of the session ${header.id}; it is used as it is.`, fix);
  }
  if (foreignHeader(line)) {
    const detail = `${file} was written by a newer Pagurus, so this one cannot open it.`;
    return finding("error", detail, "Update Pagurus.");
  }
  const key = knownKey(sessions, id, index);
  const fix = "Put the file back from a backup, or continue without the lost part.";
  if (line.length === 0 && statSync(file, { throwIfNoEntry: false })?.size === 0) {
    return finding("error", `${file} is empty: the conversation under the key ${key} is lost.`, fix);
  }
  const detail = `${file} has no readable header; its session continues without it, under the key ${key}.`;
  return finding("warn", detail, fix);
}

/** Whether a file with a foreign name is a session: by its first line, or by its key file. */
function isSession(sessions: string, id: string, line: Buffer | undefined): boolean {
  if (!isSessionId(id)) return false;
  if (isOwnId(id) || existsSync(sessionPaths(sessions, id).key)) return true;
  return line !== undefined && parseHeader(line)?.storedAs === id;
}

/** The bytes before the first newline, empty if a header cannot end so late; undefined when it cannot be read. */
function readFirstLine(file: string): Buffer | undefined {
  try {
    const fd = openSync(file, "r");
    try {
      const head = readAt(fd, 0, HEADER_MAX_BYTES);
      return head.subarray(0, Math.max(0, head.indexOf("\n")));
    } finally {
      closeSync(fd);
    }
  } catch {
    // The finding reports it.
    return undefined;
  }
}

/** The key under which a session without a header opens: from its key file, else from the index. */
function knownKey(sessions: string, id: string, index: string): string {
  const written = readKey(sessionPaths(sessions, id).key);
  if (written !== undefined) return written;
  try {
    const db = openSqlite(index, { readOnly: true });
    try {
      const row = db.get<{ key: string }>("SELECT key FROM sessions WHERE id = ?", id);
      return String(row?.key ?? recoveredKey(id));
    } finally {
      db.close();
    }
  } catch {
    // Without an index there is no other source.
    return recoveredKey(id);
  }
}

/** Unreadable parts of transcripts, kept for inspection. */
function checkSetAside(agentId: string, file: string, name: string): Finding[] {
  const torn = name.endsWith(".torn");
  if (!torn && !name.endsWith(".quarantine")) return [];
  const bytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  return [
    {
      level: "info",
      check: "store",
      detail: torn
        ? `${file} of agent ${agentId} keeps ${bytes} bytes of lines that were cut off by a crash.`
        : `${file} of agent ${agentId} lists lines of the transcript that cannot be read.`,
      fix: "The session works without them; look at the file, and remove it when you have no use for it.",
    },
  ];
}

function checkIndex(agentId: string, file: string, mayFix: boolean): Finding[] {
  if (!existsSync(file)) return [];
  const { level, problem } = integrity(file);
  if (level === "ok") {
    return [{ level, check: "store", detail: `Agent ${agentId}: the session index is sound.` }];
  }
  if (level === "info") {
    const detail = `${file} cannot be checked here (${problem}); sessions are read without it.`;
    return [{ level, check: "store", detail }];
  }
  const detail = `${file} is damaged (${problem})`;
  if (mayFix) {
    const aside = setAsideIndex(file);
    const moved = `${detail}; it is ${aside} now, and is rebuilt from the transcripts.`;
    return [{ level: "ok", check: "store", detail: moved }];
  }
  const how =
    "Run pagurus doctor --fix while no turn runs: it is rebuilt from the transcripts, which hold everything.";
  return [{ level, check: "store", detail: `${detail}.`, fix: how }];
}

/** Checks the database of the engine `lossless`. */
function checkLossless(agentId: string, file: string, mayFix: boolean): Finding[] {
  if (!existsSync(file)) return [];
  const { level, problem } = integrity(file);
  if (level === "ok")
    return [{ level, check: "store", detail: `Agent ${agentId}: the database of lossless is sound.` }];
  if (level === "info")
    return [{ level, check: "store", detail: `${file} cannot be checked here (${problem}).` }];
  const detail = `${file} is damaged (${problem})`;
  if (!mayFix) {
    const fix =
      "The next turn sets it aside and rebuilds it from the transcripts; so does pagurus doctor --fix.";
    return [{ level, check: "store", detail: `${detail}.`, fix }];
  }
  const aside = `${file}.damaged-${Date.now()}`;
  if (existsSync(`${file}-wal`)) renameSync(`${file}-wal`, `${aside}-wal`);
  renameSync(file, aside);
  rmSync(`${file}-shm`, { force: true });
  const done = `${detail}; it is ${aside} now, and is rebuilt from the transcripts.`;
  return [{ level: "ok", check: "store", detail: done }];
}

function integrity(file: string): { level: "ok" | "info" | "warn"; problem: string } {
  try {
    const db = openSqlite(file, { readOnly: true });
    try {
      // A view of the file refers to it; its result is unused.
      db.raw.function("pairs", { deterministic: true }, (text) => text);
      const row = db.get<{ integrity_check: string }>("PRAGMA integrity_check(1)");
      const problem = String(row?.integrity_check ?? "no answer").replaceAll("\n", " ");
      return { level: problem === "ok" ? "ok" : "warn", problem };
    } finally {
      db.close();
    }
  } catch (error) {
    // A database in WAL mode cannot be opened in a read-only folder: that is no damage.
    const level = indexRemedy(error) === "memory" ? "info" : "warn";
    return { level, problem: errorText(error) };
  }
}
