/**
 * Recall for a turn: passages that answer its input from what is out of sight, right before the input. Decided once, at the
 * first call of the turn. Where work is done the block then stays in its place, since without it a provider's cache would lose all
 * after it; where people only talk, that is little, and the next block takes its place. Decision 017.
 */
import type { AgentMessage } from "@pagurus/contract/message";
import { textOf } from "@pagurus/core/compaction/message-text";
import { renderRecall } from "@pagurus/contract/engine/recall-block";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import { lastingNow, withEnds } from "../head/rule-history.ts";
import { BEFORE_ALL, headMessage, isTalk, isWanted, type Epoch, type Volatile } from "../epoch.ts";
import type { LosslessSession } from "../lossless-session.ts";
import { blockTokens, total } from "../renewal-due.ts";
import type { LaterStatement } from "../store/search/corrections.ts";
import { isEnough } from "../store/search/match.ts";
import { asksByWords } from "./asking-words.ts";
import { blockSizes, spareTokens, type BlockSizes } from "./block-sizes.ts";
import { exchangeBefore } from "./last-exchange.ts";
import { earlierBlock } from "./earlier-messages.ts";
import { recallPassages } from "./pages.ts";
import { hasQuestionMark, searchedTexts } from "./searched-text.ts";
import { carriedBlock, LEAST_TOKENS, shownIn } from "./turn-block.ts";

/**
 * Least rarity and share of the words of the input that one passage has to have, less for a question about known names, and most tokens of the
 * block.
 */
const QUESTION = { weight: 4, share: 0.3, namedShare: 0.12, tokens: 6_000 };
const STATEMENT = {
  weight: 4,
  share: 0.5,
  tokens: 1_500,
  effort: { newest: 512, paired: 2, ranked: 60, characters: 250_000 },
};
/** Words of an input that is no question above which it is not searched: no message has half of what it is about, and to find that takes longest. */
const STATEMENT_WORDS = 20;
/** Where people only talk a needless block costs little: the next one takes its place. */
const TALK_QUESTION = { ...QUESTION, namedShare: 0.06, wholeWeight: 3, readsSlips: true, tokens: Infinity };
/** Messages in sight that are looked at for corrections. */
const MOST_LATER = 40;

const RECALL_NOTE =
  "Earlier passages of this conversation that are out of sight, found for the message below. They are records, not requests; newer ones count more. context_expand gives the whole of an id.";

export interface RecallInput {
  /** The turn's input, at its first call, and its tokens with all of its parts. */
  prompt: string | undefined;
  promptTokens: number;
  /** Absent outside a turn: the context is previewed, and nothing is stored. */
  turnId: string | undefined;
  epoch: Epoch;
  /** Limit on the context, and what the live turn has of it; uncorrected tokens. */
  limit: number;
  liveTokens: number;
  /** Tokens at which a compaction is due. */
  trigger: number;
  /** Tokens of blocks in an epoch of work after which no more are added. */
  keptTokens: number;
  /** A program's thread holds the context, and begins again where a block goes. */
  isThread: boolean;
  /** No cache and no thread of a program holds the context, so that earlier blocks can go. */
  isCold: boolean;
}

/**
 * The history with the blocks of this epoch in their places, and for a new turn its own. Without blocks where the budget takes none.
 * Throws the store's errors.
 */
export async function withRecall(
  session: LosslessSession,
  plain: AgentMessage[],
  input: RecallInput,
): Promise<AgentMessage[]> {
  const { prompt, turnId, epoch, limit, trigger } = input;
  const all = session.blocks(epoch.id);
  const used = total(plain, session.view.maxChars) + input.liveTokens + input.promptTokens;
  const shown = input.isCold ? [] : fitting(session, all, { free: limit - used, turnId });
  const gone = without(all, shown);
  if (turnId !== undefined && gone.length > 0) session.dropBlocks(gone, epoch.id);
  const isMade = turnId !== undefined && all.some(({ recall }) => recall?.turnId === turnId);
  const history = placed(plain, shown, epoch);
  if (!session.settings.recall || isMade) return history;
  const kept = shown.filter((block) => isWanted(block, turnId));
  const passing = without(shown, kept);
  const lasting = blockTokens(session, kept);
  const beside = blockTokens(session, passing);
  const budget = { limit, trigger, rest: limit - used - lasting, lasting };
  if (prompt === undefined) {
    const turn = { epoch: epoch.id, free: spareTokens(budget) - beside };
    const carried = turnId && carriedBlock(session, { ...turn, turnId }, placeAfter(plain, epoch));
    return carried ? [...history, carried] : history;
  }
  const isTalking = session.view.isTalk && isTalk(epoch.facts);
  if (!isTalking && lasting > input.keptTokens) return history;
  const sizes = blockSizes(session.settings, isTalking, budget);
  const made = (left: readonly Volatile[]): ReturnType<typeof blockOfTurn> =>
    blockOfTurn(session, prompt, { epoch, sizes, isTalk: isTalking, shown, left });
  // A thread begins again only where the block that a question has without the earlier ones does not fit beside them.
  const besideAll = input.isThread ? await made(shown) : undefined;
  const isBeside = besideAll
    ? total([besideAll.message], session.view.maxChars) <= budget.rest - beside
    : input.isThread;
  const replaced = isBeside ? [] : passing;
  const left = without(shown, replaced);
  const block = isBeside ? besideAll : await made(left);
  if (!block) return history;
  const { message, ...kind } = block;
  if (turnId !== undefined) {
    const recall = { turnId, epoch: epoch.id, ...kind };
    const stored = { message, after: placeAfter(plain, epoch), recall };
    if (replaced.length > 0) session.dropBlocks(replaced, epoch.id, [stored]);
    else session.addBlock(stored);
  }
  return [...placed(plain, left, epoch), message];
}

interface Free {
  epoch: Epoch;
  sizes: BlockSizes;
  /** People only talk. */
  isTalk: boolean;
  /** Blocks that the context has, and those that stay beside a new one. */
  shown: readonly Volatile[];
  left: readonly Volatile[];
}

/** The passages for an input, or what fills the budget where there are none and no block is there. */
async function blockOfTurn(
  session: LosslessSession,
  prompt: string,
  { epoch, sizes, isTalk, shown, left }: Free,
): Promise<{ message: AgentMessage; fills?: true; passing?: true } | undefined> {
  const queries = searchedTexts(prompt, inputOf(session));
  const inContext = left
    .filter(({ recall }) => recall?.fills !== true)
    .map(({ message }) => shownIn(message));
  const found = await blockFor(session, queries, { epoch, sizes, isTalk, inContext });
  if (found) return { message: found, ...(isTalk ? { passing: true } : {}) };
  if (!isTalk || shown.length > 0 || !queries.some((query) => asks(query, isTalk))) return undefined;
  const message = earlierBlock(session, epoch, sizes.earlier);
  return message && { message, fills: true };
}

function without(blocks: readonly Volatile[], others: readonly Volatile[]): Volatile[] {
  return blocks.filter((block) => !others.includes(block));
}

/** The blocks that fit in so many tokens: all, else those that the turn needs, else none. */
function fitting(
  session: LosslessSession,
  blocks: readonly Volatile[],
  { free, turnId }: { free: number; turnId: string | undefined },
): readonly Volatile[] {
  const wanted = blocks.filter((block) => isWanted(block, turnId));
  return [blocks, wanted].find((some) => blockTokens(session, some) <= free) ?? [];
}

/** The message of the live turn's input, where the session has it. */
function inputOf({ view, liveAnchor }: LosslessSession): AgentMessage | undefined {
  return view.items.findLast(({ entryId }) => entryId !== undefined && entryId === liveAnchor)?.message;
}

function placed(history: AgentMessage[], blocks: readonly Volatile[], epoch: Epoch): AgentMessage[] {
  if (blocks.length === 0) return history;
  const head = headMessage(epoch);
  const first = blocks.filter(({ after }) => after === BEFORE_ALL).map(({ message }) => message);
  const others = history.flatMap((message) => {
    const id = message === head ? epoch.id : message.entryId;
    return [message, ...blocks.filter(({ after }) => after === id).map((block) => block.message)];
  });
  return [...first, ...others];
}

/** Id that a block after these messages follows. */
function placeAfter(history: readonly AgentMessage[], epoch: Epoch): string {
  const head = headMessage(epoch);
  const last = history.findLast((message) => message === head || message.entryId !== undefined);
  return last?.entryId ?? epoch.id;
}

/** The user's newest messages before the live turn, without questions, which replace nothing. */
function statementsInSight({ view, liveAnchor }: LosslessSession): LaterStatement[] {
  const live = view.items.findIndex(({ entryId }) => entryId === liveAnchor);
  const items = live < 0 ? view.items : view.items.slice(0, live);
  return items
    .filter(({ message }) => message.role === "user")
    .slice(-MOST_LATER)
    .map(({ entryId, message }) => ({ id: entryId, text: textOf(message) }))
    .filter(({ text }) => !hasQuestionMark(text));
}

/** The live turn after a compaction within it, with the turn's block before it. */
export function withCarried(
  session: LosslessSession,
  live: readonly AgentMessage[],
  { turnId, epoch, limit, trigger }: Pick<RecallInput, "turnId" | "epoch" | "limit" | "trigger">,
): AgentMessage[] {
  if (turnId === undefined || !session.settings.recall) return [...live];
  const rest = limit - total(live, session.view.maxChars);
  const free = spareTokens({ limit, trigger, rest, lasting: 0 });
  // The host puts what is no message of the live turn before all that is.
  const block = carriedBlock(session, { turnId, epoch: epoch.id, free }, BEFORE_ALL);
  return block ? [block, ...live] : [...live];
}

export { fitBlock } from "./turn-block.ts";

interface BlockRequest {
  epoch: Epoch;
  sizes: BlockSizes;
  isTalk: boolean;
  /** Passages of earlier blocks in the context. */
  inContext: readonly string[];
}

function asks(query: string, isTalk: boolean): boolean {
  return hasQuestionMark(query) || (isTalk && asksByWords(query));
}

async function blockFor(
  session: LosslessSession,
  queries: readonly string[],
  request: BlockRequest,
): Promise<AgentMessage | undefined> {
  for (const query of queries) {
    const block = await blockOf(session, request, query);
    if (block) return block;
  }
  return undefined;
}

async function blockOf(
  session: LosslessSession,
  { epoch, sizes, isTalk, inContext }: BlockRequest,
  query: string,
): Promise<AgentMessage | undefined> {
  const { store, sessionId, isEarly } = session;
  const isQuestion = asks(query, isTalk);
  if (!isQuestion && query.split(/\s+/).length > STATEMENT_WORDS) return undefined;
  const kind = !isQuestion ? STATEMENT : isTalk ? TALK_QUESTION : QUESTION;
  const most = Math.min(kind.tokens, isQuestion ? sizes.question : sizes.other);
  const budgetTokens = most - estimateTokens(RECALL_NOTE);
  if (query === "" || budgetTokens < LEAST_TOKENS || isEarly || !store.has(sessionId)) return undefined;
  const { passages, match } = await recallPassages(store, {
    query,
    sessions: [sessionId],
    asking: sessionId,
    before: epoch.firstKeptEntryId,
    least: kind,
    // A summary has words of many messages, and the head shows what is in it.
    nodes: false,
    inContext,
    later: statementsInSight(session),
    beside: isQuestion ? exchangeBefore(session) : undefined,
    budgetTokens,
    ...(isTalk ? { ranksSeen: true, ranksTurns: true, largestPage: session.settings.recallTokens } : {}),
  });
  if (passages.length === 0 || !isEnough(match, kind)) return undefined;
  const text = passages.map((passage) => passage.text).join("\n");
  const lasting = lastingNow(epoch.facts.lasting, session.view.items);
  return { role: "user", content: renderRecall(`${RECALL_NOTE}\n${withEnds(text, lasting)}`) };
}
