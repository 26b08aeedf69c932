/** Parts of a request's body: contiguous byte ranges, each with one source. */

/**
 * Where the bytes of a part come from. `framing`: JSON between the others, names of members included; `settings`: values that are no
 * content (model, limits); `system`, `tools`: whoever wrote them; `addition`: the engine's text beside the system prompt;
 * `instructions`, `memory`: the project's files and the memory's section; `head`: summaries of older messages; `kept`: messages before
 * the live turn; `live`: the live turn; `recall`: passages that the engine found for the input; `fragment`: additional context;
 * `harness`: what the runtime adds to the conversation itself; `unread`: the stored bytes are not the complete JSON of their protocol.
 */
export const BODY_SOURCES = [
  "framing",
  "settings",
  "system",
  "tools",
  "addition",
  "instructions",
  "memory",
  "head",
  "kept",
  "live",
  "recall",
  "fragment",
  "harness",
  "unread",
] as const;
export type BodySource = (typeof BODY_SOURCES)[number];

export interface BodyPart {
  /** Byte offsets in the body; `to` is exclusive. */
  from: number;
  to: number;
  source: BodySource;
  /** Place in the body: `tools[2]`, `messages[12].content[0]`; absent for framing. */
  at?: string;
  /** `user`, `assistant`, `tools`, as the protocol names it. */
  role?: string;
  /** Transcript entries whose words the part has, in order. */
  entryIds?: string[];
  /** Path of a project file. */
  path?: string;
  /** Estimate; 0 for framing. */
  tokens: number;
  /** What was trimmed from it, bytes. */
  trimmed?: { fromBytes: number; toBytes: number };
  /** Whether the provider read it from its cache, by the count that it reported; absent where it reported none. */
  cached?: boolean;
}

/** Whether the parts cover the body exactly, in order and without an overlap. */
export function isPartition(parts: readonly Pick<BodyPart, "from" | "to">[], bytes: number): boolean {
  let at = 0;
  for (const { from, to } of parts) {
    if (from !== at || to <= from) return false;
    at = to;
  }
  return at === bytes;
}
