/** What storing an entry takes before the database is asked: tokens counted, words cut out, hashes made. */
import type { AgentMessage } from "../../../contract/message.ts";
import type { TranscriptEntry } from "../../../contract/transcript.ts";
import { messageTokens } from "../../../tokens/messages.ts";
import { cut, type Cutting } from "./cutting.ts";
import { codeOf, kept } from "./rows.ts";

/** An entry ready to be written; can be sent to another thread. */
export interface PreparedEntry {
  id: string;
  parentId: string | null;
  /** Of the column `kind`. */
  code: number;
  tokens: number;
  time: number;
  turnId: string | null;
  supersedes: string | null;
  /** The part that is kept as a template. */
  cutting: Cutting;
}

/** Moves the leaf; nothing of it is stored. */
export interface PreparedRewind {
  rewindTo: string | null;
}

export type Prepared = PreparedEntry | PreparedRewind;

/** Only what a model would see counts. */
function tokensOf(entry: TranscriptEntry): number {
  if (entry.type === "message") return messageTokens(entry.message);
  if (entry.type !== "custom_message") return 0;
  const message: AgentMessage = { role: "user", content: entry.content };
  return messageTokens(message);
}

function timeOf(entry: TranscriptEntry): number {
  const time = Date.parse(entry.timestamp);
  return Number.isFinite(time) ? time : 0;
}

/** Throws `import_invalid` for a type or role that the contract does not have. */
export function prepare(entry: TranscriptEntry): Prepared {
  if (entry.type === "rewind") return { rewindTo: entry.targetId };
  return {
    id: entry.id,
    parentId: entry.parentId,
    code: codeOf(entry),
    tokens: tokensOf(entry),
    time: timeOf(entry),
    turnId: entry.turnId ?? null,
    supersedes: entry.type === "message" ? (entry.supersedes ?? null) : null,
    cutting: cut(kept(entry)),
  };
}
