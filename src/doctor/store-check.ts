import { closeSync, existsSync, openSync, readFileSync, readdirSync, readSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { TRANSCRIPT_VERSION } from "../contract/version.ts";
import { processIsAlive, processStartTicks } from "../platform/process-group.ts";
import { openSqlite } from "../platform/sqlite.ts";
import type { Finding } from "./finding.ts";

/** Longest first line that is read; a header is a few hundred bytes. */
const HEADER_MAX_BYTES = 64 * 1024;
const RECEIPTS_SUFFIX = ".receipts.jsonl";

/** The transcripts and the index of each agent. Reads heads of files only, and changes nothing. */
export function checkStore(home: string): Finding[] {
  const agents = join(home, "agents");
  if (!existsSync(agents)) return [{ level: "info", check: "store", detail: "There are no sessions yet." }];
  return readdirSync(agents, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .toSorted()
    .flatMap((agentId) => checkAgent(agentId, join(agents, agentId)));
}

function checkAgent(agentId: string, folder: string): Finding[] {
  const sessions = join(folder, "sessions");
  const names = existsSync(sessions) ? readdirSync(sessions).toSorted() : [];
  const transcripts = names.filter((name) => name.endsWith(".jsonl") && !name.endsWith(RECEIPTS_SUFFIX));
  const broken = transcripts.flatMap((name) => checkTranscript(agentId, join(sessions, name), name));
  const setAside = names.flatMap((name) => checkSetAside(agentId, join(sessions, name), name));
  const locks = names
    .filter((name) => name.endsWith(".lock"))
    .flatMap((name) => checkLock(join(sessions, name)));
  const detail = `Agent ${agentId}: ${transcripts.length - broken.length} of ${transcripts.length} transcripts have a good header.`;
  return [
    { level: broken.length === 0 ? "ok" : "info", check: "store", detail },
    ...broken,
    ...setAside,
    ...locks,
    ...checkIndex(agentId, join(folder, "sessions.db")),
  ];
}

function checkTranscript(agentId: string, file: string, name: string): Finding[] {
  const header = readHeader(file);
  const id = name.slice(0, -".jsonl".length);
  if (header?.["type"] === "session" && header["version"] === TRANSCRIPT_VERSION && header["id"] === id)
    return [];
  const newer = typeof header?.["version"] === "number" && header["version"] > TRANSCRIPT_VERSION;
  return [
    {
      level: "error",
      check: "store",
      detail: newer
        ? `${file} was written by a newer Pagurus, so this one cannot open it.`
        : `${file} of agent ${agentId} has no good header, so its session cannot be opened.`,
      fix: newer ? "Update Pagurus." : "Put the file back from a backup, or move it out of the folder.",
    },
  ];
}

function readHeader(file: string): Record<string, unknown> | undefined {
  try {
    const fd = openSync(file, "r");
    try {
      const buffer = Buffer.alloc(HEADER_MAX_BYTES);
      const head = buffer.toString("utf8", 0, readSync(fd, buffer));
      return JSON.parse(head.slice(0, head.indexOf("\n"))) as Record<string, unknown>;
    } finally {
      closeSync(fd);
    }
  } catch {
    // Unreadable or no JSON: either way there is no header, which is the finding.
    return undefined;
  }
}

/** Pieces of transcripts that could not be read and were kept for a person to look at. */
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

function checkLock(file: string): Finding[] {
  const pid = deadOwner(file);
  if (pid === undefined) return [];
  const detail = `${file} is left from process ${pid}, which has ended; the next turn of the session takes it over.`;
  return [{ level: "info", check: "store", detail }];
}

/** The owner of a lock when it is of this machine and has ended; undefined when it may be alive. */
function deadOwner(file: string): number | undefined {
  try {
    const owner = JSON.parse(readFileSync(file, "utf8")) as {
      pid?: unknown;
      host?: unknown;
      startTicks?: unknown;
    };
    if (typeof owner.pid !== "number" || owner.host !== hostname()) return undefined;
    if (!processIsAlive(owner.pid)) return owner.pid;
    const ticks = processStartTicks(owner.pid);
    const reused = ticks !== undefined && owner.startTicks !== undefined && ticks !== owner.startTicks;
    return reused ? owner.pid : undefined;
  } catch {
    // Released at this moment, or empty after a power cut: opening the session settles it.
    return undefined;
  }
}

function checkIndex(agentId: string, file: string): Finding[] {
  if (!existsSync(file)) return [];
  const problem = integrityProblem(file);
  if (problem === undefined) {
    return [{ level: "ok", check: "store", detail: `Agent ${agentId}: the session index is sound.` }];
  }
  return [
    {
      level: "warn",
      check: "store",
      detail: `${file} is damaged (${problem}).`,
      fix: "Remove it while no Pagurus runs; it is made again from the transcripts, which hold everything.",
    },
  ];
}

function integrityProblem(file: string): string | undefined {
  try {
    const db = openSqlite(file, { readOnly: true });
    try {
      const row = db.prepare("PRAGMA integrity_check(1)").get();
      const answer = String(row?.["integrity_check"] ?? "no answer");
      return answer === "ok" ? undefined : answer;
    } finally {
      db.close();
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
