import type { AgentMessage } from "@pagurus/contract/message";
import type { SessionStore } from "@pagurus/contract/session/store";
import type { TranscriptCursor, TranscriptEntry } from "@pagurus/contract/session/transcript";
import { PagurusError } from "@pagurus/contract/errors";

/** One user input on the active path, and the leaf before it. */
export interface UserInput {
  entryId: string;
  text: string;
  /** Leaf before the turn of this input; null when the conversation was empty. */
  before: string | null;
}

export function messageText(message: AgentMessage): string {
  if (typeof message.content === "string") return message.content;
  return message.content
    .map((part) => (part.type === "text" ? part.text : part.type === "image" ? "[image]" : ""))
    .filter((text) => text !== "")
    .join("\n");
}

/** The words that the person typed, without files and outputs that came with them. */
export function typedText(message: AgentMessage): string {
  if (typeof message.content === "string") return message.content;
  const typed = message.content.filter((part) => part.type === "text" && part.source === undefined);
  return typed.length === 0
    ? messageText(message)
    : messageText({ ...message, content: typed } as AgentMessage);
}

function isUserInput(
  entry: TranscriptEntry,
): entry is TranscriptEntry & { type: "message"; message: AgentMessage } {
  return entry.type === "message" && entry.message.role === "user";
}

/**
 * The newest user inputs of the path, newest first, one per turn: text typed during a turn belongs to that turn. Reads no
 * further back than it needs.
 */
export async function recentInputs(cursor: TranscriptCursor, limit: number): Promise<UserInput[]> {
  const inputs: UserInput[] = [];
  let open: (UserInput & { turnId: string | undefined }) | undefined;
  const finish = (): void => {
    if (open) inputs.push({ entryId: open.entryId, text: open.text, before: open.before });
    open = undefined;
  };
  for await (const entry of cursor.backward()) {
    const sameTurn = open?.turnId !== undefined && entry.turnId === open.turnId;
    if (sameTurn && open) {
      open.before = entry.parentId;
      if (isUserInput(entry)) Object.assign(open, { entryId: entry.id, text: typedText(entry.message) });
      continue;
    }
    // A message of another turn ends the search for this turn's start; other entries may be in between.
    if (open && (entry.type === "message" || entry.type === "turn_commit")) finish();
    if (inputs.length >= limit) return inputs;
    if (!isUserInput(entry)) continue;
    open = {
      entryId: entry.id,
      text: typedText(entry.message),
      before: entry.parentId,
      turnId: entry.turnId,
    };
  }
  finish();
  return inputs;
}

/** Moves the session's leaf. Throws `session_not_found`, `session_locked`, `entry_not_found`. */
export function rewindSession(
  store: SessionStore,
  sessionKey: string,
  target: string | null,
  cwd: string,
): void {
  const writer = store.openWriter(sessionKey, { cwd, create: false });
  try {
    writer.rewind(target);
  } finally {
    writer.close();
  }
}

/** Rewinds to before the newest turn of the user. Throws `entry_not_found` when there is none. */
export async function undoLastTurn(store: SessionStore, sessionKey: string, cwd: string): Promise<UserInput> {
  const reader = store.openReader(sessionKey);
  let last: UserInput | undefined;
  try {
    [last] = await recentInputs(reader.cursor, 1);
  } finally {
    reader.close();
  }
  if (!last) throw new PagurusError("entry_not_found", `Session "${sessionKey}" has no turn to undo.`);
  rewindSession(store, sessionKey, last.before, cwd);
  return last;
}
