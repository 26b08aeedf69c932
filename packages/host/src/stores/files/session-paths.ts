import { join } from "node:path";

/** The files of one session; all start with its id, which is how deletion finds them. */
export interface SessionPaths {
  transcript: string;
  lock: string;
  /** Torn last lines that were cut off, one after the other. */
  torn: string;
  /** JSON lines with offset and length of unreadable lines; their bytes stay in the transcript. */
  quarantine: string;
  receipts: string;
  /** Native threads of runtimes that the session is bound to. */
  bindings: string;
  /** Folder of requests to the running turn; exists while one runs. */
  mailbox: string;
  /** The session key when it differs from the header's (an import under another key). */
  key: string;
}

export const TRANSCRIPT_SUFFIX = ".jsonl";

export function sessionPaths(folder: string, sessionId: string): SessionPaths {
  const base = join(folder, sessionId);
  return {
    transcript: base + TRANSCRIPT_SUFFIX,
    lock: `${base}.lock`,
    torn: `${base}.jsonl.torn`,
    quarantine: `${base}.jsonl.quarantine`,
    receipts: `${base}.receipts.jsonl`,
    bindings: `${base}.bindings.json`,
    mailbox: `${base}.mailbox`,
    key: `${base}.key`,
  };
}
