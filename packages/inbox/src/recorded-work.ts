/** What a session's transcript has of a piece of work, after a process ended in the middle of it. */
import { isPagurusError } from "@pagurus/contract/errors";
import type { AgentMessage, ImagePart, TextPart } from "@pagurus/contract/message";
import type { SessionStore } from "@pagurus/contract/session/store";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import type { TurnWork, Work, WorkOutcome } from "./work.ts";

/** Entries of the path that are searched, from its end. */
const MOST_ENTRIES = 20_000;

/** Entries of the path, newest first; none for a key without a session. Throws `store_read_failed`. */
export async function* entriesFromEnd(
  store: SessionStore,
  sessionKey: string,
): AsyncGenerator<TranscriptEntry> {
  const reader = openReader(store, sessionKey);
  if (!reader) return;
  try {
    let count = 0;
    for await (const entry of reader.cursor.backward()) {
      yield entry;
      count += 1;
      if (count >= MOST_ENTRIES) return;
    }
  } finally {
    reader.close();
  }
}

function openReader(
  store: SessionStore,
  sessionKey: string,
): ReturnType<SessionStore["openReader"]> | undefined {
  try {
    return store.openReader(sessionKey);
  } catch (error) {
    if (isPagurusError(error) && error.code === "session_not_found") return undefined;
    throw error;
  }
}

/** The end that is recorded for a turn; `interrupted` where there is none. Throws `store_read_failed`. */
export async function recordedOutcome(store: SessionStore, { id, sessionKey }: Work): Promise<WorkOutcome> {
  for await (const entry of entriesFromEnd(store, sessionKey))
    if (entry.type === "turn_commit" && entry.turnId === id) return entry.outcome;
  return "interrupted";
}

function textOf(message: AgentMessage): string {
  if (message.role !== "user") return "";
  if (typeof message.content === "string") return message.content;
  return joinedText(message.content);
}

function joinedText(parts: readonly (TextPart | ImagePart)[]): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** As `textOf` its recorded message; undefined for what is no turn. */
function wordsOf({ kind, request }: Work): string | undefined {
  if (kind !== "turn") return undefined;
  const { prompt, parts = [] } = request as TurnWork;
  return prompt + joinedText(parts);
}

/** Number of inputs of a turn that have the same words as a text that was to join it: its prompt, and what joined it before. */
export function equalInputs(turn: Work | undefined, ofSession: readonly Work[], steering: Work): number {
  const { seq, intoWork } = steering;
  const words = wordsOf(steering);
  const joined = ofSession.filter(
    (work) => work.intoWork === intoWork && work.seq < seq && work.outcome === "steered",
  );
  return [...(turn ? [turn] : []), ...joined].filter((work) => wordsOf(work) === words).length;
}

/**
 * Whether the text is recorded as input of the turn that it was to join, besides others with the same words. Throws
 * `store_read_failed`.
 */
export async function hasSteering(
  store: SessionStore,
  { sessionKey, intoWork, request }: Work,
  others: number,
): Promise<boolean> {
  const { prompt } = request as TurnWork;
  let hasBegun = false;
  let count = 0;
  for await (const entry of entriesFromEnd(store, sessionKey)) {
    if (entry.turnId === intoWork) hasBegun = true;
    else if (hasBegun && entry.turnId !== undefined) return false;
    if (entry.turnId === intoWork && entry.type === "message" && textOf(entry.message) === prompt) count += 1;
    if (count > others) return true;
  }
  return false;
}
