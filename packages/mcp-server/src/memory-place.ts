/** A client's view of what is kept, and the shape of the tools that read it. */
import * as z from "zod";
import type { LeftOutEntry } from "@pagurus/api/types";
import type { ImagePart } from "@pagurus/contract/message";
import type { VisibleSessions } from "./visible-sessions.ts";

/** Default and largest size of an answer, tokens. */
const PAGE_TOKENS = 2_000;
const MOST_PAGE_TOKENS = 8_000;

/** A client's view of the kept conversations. */
export interface MemoryPlace {
  sessions: VisibleSessions;
  /**
   * Entries that the newest request of a conversation did not hold, oldest first; undefined where no request is recorded. Throws
   * `session_not_found`, `store_read_failed`.
   */
  leftOut(sessionKey: string): Promise<readonly LeftOutEntry[] | undefined>;
  /** What the keeper has of other agents; absent where the client may not see it. */
  kept?: KeptPlace;
}

/** A passage that a search found. */
export interface KeptPassage {
  num: number;
  conversation: { id: number; agent: string; native: string; title: string | null };
  role: string;
  at: number | null;
  snippet: string;
}

export interface KeptRecord {
  num: number;
  role: string;
  at: number | null;
  text: string;
}

/** A client's view of what other agents wrote. */
export interface KeptPlace {
  search(query: string, options: { limit: number; agent?: string }): readonly KeptPassage[];
  /** Visits records from one on, or those before it, until `visit` wants no more. Throws `session_not_found`, `entry_not_found`. */
  read(
    conversation: number,
    from: { from?: number; isBackward?: boolean },
    visit: (record: KeptRecord) => boolean,
  ): void;
}

export interface MemoryAnswer {
  text: string;
  images?: readonly ImagePart[];
}

export interface MemoryTool<Input extends z.ZodObject = z.ZodObject> {
  name: string;
  title: string;
  description: string;
  input: Input;
  run(place: MemoryPlace, input: z.output<Input>): Promise<MemoryAnswer> | MemoryAnswer;
}

export function tool<Input extends z.ZodObject>(made: MemoryTool<Input>): MemoryTool {
  return made as unknown as MemoryTool;
}

export const maxTokens = z
  .number()
  .int()
  .min(200)
  .max(MOST_PAGE_TOKENS)
  .default(PAGE_TOKENS)
  .describe("Most tokens of the answer.");

export function oneLine(text: string, chars: number): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length <= chars ? line : `${line.slice(0, chars - 1)}…`;
}
