/** Cut of the test engines that read the host's transcript: at a turn, else inside a live turn that is too large alone. */
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { RuntimeContext } from "../../../packages/contract/src/engine/runtime-context.ts";
import type {
  CompactionEntry,
  MessageEntry,
  TranscriptEntry,
} from "../../../packages/contract/src/session/transcript.ts";

export interface PathPlan {
  summarized: AgentMessage[];
  /** Entries from the first kept one on, of every type. */
  kept: TranscriptEntry[];
  firstKept: MessageEntry;
  previous?: string;
  /** Set when the cut lies inside a turn. */
  splitInput?: MessageEntry;
  tokensBefore: number;
}

interface Tail {
  entries: TranscriptEntry[];
  compaction?: CompactionEntry;
}

function is(entry: TranscriptEntry, id: string): boolean {
  return entry.id === id || (entry.type === "message" && entry.supersedes === id);
}

/** Entries of the path that a model sees unchanged, oldest first, and the newest compaction before or among them. */
async function readTail({ transcript }: RuntimeContext): Promise<Tail> {
  const entries: TranscriptEntry[] = [];
  let compaction: CompactionEntry | undefined;
  let since = 0;
  for await (const entry of transcript.backward()) {
    if (entry.type !== "compaction") entries.push(entry);
    else if (!compaction) {
      compaction = entry;
      since = entries.length;
    }
    if (compaction && is(entry, compaction.firstKeptEntryId))
      return { entries: entries.reverse(), compaction };
  }
  // A summary whose first kept entry comes after it, as in a successor's file, or is gone.
  if (compaction) return { entries: entries.slice(0, since).reverse(), compaction };
  return { entries: entries.reverse() };
}

export function messageOf({ id, message }: MessageEntry): AgentMessage {
  return { ...message, entryId: id };
}

/** Plans what to summarize so that about `keepTokens` stay verbatim; a reason where there is nothing. */
export async function planPath(context: RuntimeContext, keepTokens: number): Promise<PathPlan | string> {
  const { entries, compaction } = await readTail(context);
  const messages = entries.filter((entry) => entry.type === "message");
  const sizes = messages.map((entry) => context.tokens(messageOf(entry)));
  const cut = cutAt(messages, sizes, keepTokens);
  const [newest] = messages.slice(-1);
  const firstKept = messages[cut];
  if (!newest || !firstKept || cut === 0) return "There is nothing older than what is kept.";
  const inside = messages[cut - 1]?.turnId !== undefined && messages[cut - 1]?.turnId === firstKept.turnId;
  const splitInput = inside ? await inputOf(context, messages, firstKept, compaction) : undefined;
  if (inside && !splitInput) return "The only cut is inside a turn whose input is gone.";
  const summarized = messages.slice(0, cut).filter(({ id }) => id !== splitInput?.id);
  if (summarized.length === 0) return "There is nothing older than what is kept but the turn's input.";
  return {
    summarized: summarized.map(messageOf),
    kept: entries.slice(entries.indexOf(firstKept)),
    firstKept,
    ...(compaction ? { previous: compaction.summary } : {}),
    ...(splitInput ? { splitInput } : {}),
    tokensBefore: sizes.reduce((sum, size) => sum + size, 0) + context.tokens(compaction?.summary ?? ""),
  };
}

/** Index of the first kept message: the oldest turn that fits, else, in a newest turn that does not, the oldest round. */
function cutAt(messages: readonly MessageEntry[], sizes: readonly number[], keepTokens: number): number {
  const turnStart = (index: number): boolean =>
    messages[index]?.message.role === "user" && messages[index]?.turnId !== messages[index - 1]?.turnId;
  let tokens = 0;
  let turn: number | undefined;
  let round: number | undefined;
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    tokens += sizes[index] ?? 0;
    const fits = tokens <= keepTokens;
    if (turnStart(index) && (fits || turn === undefined)) turn = index;
    if (messages[index]?.message.role === "assistant" && (fits || round === undefined)) round = index;
    if (!fits && turn !== undefined) break;
  }
  const newestTurn = messages.findLastIndex((_, index) => turnStart(index));
  const newestTokens = sizes.slice(Math.max(0, newestTurn)).reduce((sum, size) => sum + size, 0);
  if (newestTokens > keepTokens && round !== undefined && round > newestTurn + 1) return round;
  return turn ?? 0;
}

/** The input of the turn in which the cut lies; it may be before an earlier compaction. */
async function inputOf(
  { transcript }: RuntimeContext,
  messages: readonly MessageEntry[],
  kept: MessageEntry,
  compaction: CompactionEntry | undefined,
): Promise<MessageEntry | undefined> {
  const input = messages.find((entry) => entry.turnId === kept.turnId && entry.message.role === "user");
  if (input) return input;
  const id = compaction?.splitTurnInputId;
  const entry = id === undefined ? undefined : await transcript.get(id);
  return entry?.type === "message" ? entry : undefined;
}
