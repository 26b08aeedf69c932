/** Assembles the context: head, kept messages, live turn. Takes time in proportion to its result and never waits for a model. */
import { repairPairs } from "@pagurus/core/compaction/tool-pairing";
import { textOf } from "@pagurus/core/compaction/message-text";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import type { AssembleParams, AssembleResult } from "@pagurus/contract/engine/engine-params";
import type { AgentMessage } from "@pagurus/contract/message";
import type { RuntimeContext } from "@pagurus/contract/engine/runtime-context";
import { readSummary } from "@pagurus/contract/engine/summary";
import { loadOnce } from "@pagurus/core/platform/load-once";
import { contextBefore } from "./head/epoch-cut.ts";
import { headMessage, isWanted, type Epoch, type Volatile } from "./epoch.ts";
import type { RecallInput } from "./recall/turn-recall.ts";
import type { Draft } from "./summary/publish.ts";
import type { Renewal } from "./renew-epoch.ts";
import { blockTokens, dueOf, total, type Parts } from "./renewal-due.ts";
import type { LosslessSession } from "./lossless-session.ts";
import { unmatched } from "./volatile-input.ts";

/** Loaded once a conversation has a summary. */
const turnRecall = loadOnce(() => import("./recall/turn-recall.ts"));

/** Loaded once a new epoch is due. */
const renewing = loadOnce(() => import("./renew-epoch.ts"));
const publishing = loadOnce(() => import("./summary/publish.ts"));

/** Runtime that sends each context whole. */
const OWN_LOOP = "embedded";
/** Tokens of recalled passages in an epoch after which no more are added, as a share of the trigger. */
const KEPT_SHARE = 0.05;

function isHostSummary(message: AgentMessage): boolean {
  return (
    message.role === "user" && message.entryId !== undefined && readSummary(textOf(message)) !== undefined
  );
}

/** Splits the input messages and the session's view at the live turn. */
function partsOf(session: LosslessSession, params: AssembleParams): Parts {
  const { view } = session;
  const { messages: input, prompt } = params;
  const turnId = params.runtimeContext?.turnId;
  const ids = new Set(input.map(({ entryId }) => entryId));
  const at =
    turnId === undefined ? -1 : view.items.findIndex((item) => item.turnId === turnId && !item.isFragment);
  const named = turnId === undefined ? view.items.findIndex(({ entryId }) => ids.has(entryId)) : -1;
  const liveStart = at >= 0 ? at : named >= 0 ? named : view.items.length;
  const before = new Set(view.items.slice(0, liveStart).map(({ entryId }) => entryId));
  // The first call of a turn has the input as its prompt, so no input message is a copy of it.
  const held = view.items.slice(liveStart + (prompt === undefined ? 0 : 1)).map(({ message }) => message);
  const fresh = input.filter(({ entryId }) => entryId === undefined || !before.has(entryId));
  const recorded = new Set(fresh.flatMap(({ entryId }) => entryId ?? []));
  const unnamed = fresh.filter(({ entryId }) => entryId === undefined);
  // A message without an entry id whose content equals that of a live entry is that entry.
  const volatile = new Set(
    unmatched(
      unnamed,
      held.filter(({ entryId }) => !recorded.has(entryId ?? "")),
    ),
  );
  const live = fresh.filter((message) => message.entryId !== undefined || volatile.has(message));
  return { history: historyOf(session, liveStart, ids), live, liveStart };
}

function historyOf(session: LosslessSession, end: number, inputIds: ReadonlySet<unknown>): AgentMessage[] {
  const { view, store } = session;
  const volatile = session.volatileAfter();
  // A host that did not apply the cut of its live turn still passes that turn's input itself.
  const before = contextBefore(store, view).filter(
    ({ entryId }) => entryId === undefined || !inputIds.has(entryId),
  );
  const messages = [...before, ...view.items.slice(0, end).map(({ message }) => message)];
  if (volatile.size === 0) return messages;
  return messages.flatMap((message) => [
    message,
    ...(volatile.get(message.entryId ?? view.epoch?.id ?? "") ?? []),
  ]);
}

interface Recalling extends Omit<RecallInput, "promptTokens" | "liveTokens"> {
  /** The host has replaced the history by the summary, within the turn. */
  isCut: boolean;
}

/** The context with the passages recalled for its turn. */
async function withPassages(
  session: LosslessSession,
  { history, live, liveStart }: Parts,
  { isCut, ...recall }: Recalling,
): Promise<AgentMessage[]> {
  const { withCarried, withRecall } = await turnRecall();
  if (isCut) return withCarried(session, live, recall);
  const { prompt } = recall;
  const promptTokens = prompt === undefined ? 0 : inputTokens(session, liveStart, prompt);
  const liveTokens = total(live, session.view.maxChars);
  const recalled = await withRecall(session, history, { ...recall, promptTokens, liveTokens });
  return [...recalled, ...live];
}

/**
 * Tokens of the blocks of passages that the turn needs. That of a turn that is growing gets shorter where they are more than `free`. Others
 * are no reason for a new epoch.
 */
async function recalledTokens(
  session: LosslessSession,
  epoch: Epoch,
  { turnId, growing, free }: { turnId: string | undefined; growing: string | undefined; free: number },
): Promise<number> {
  const isNeeded = (block: Volatile): boolean => isWanted(block, turnId);
  const tokens = (): number => blockTokens(session, session.blocks(epoch.id).filter(isNeeded));
  const now = tokens();
  if (growing === undefined || now <= free || now === 0) return now;
  const { fitBlock } = await turnRecall();
  fitBlock(session, { turnId: growing, epoch: epoch.id, free });
  return tokens();
}

/** Tokens of the turn's input, images and other parts included. */
function inputTokens({ view }: LosslessSession, liveStart: number, prompt: string): number {
  const item = view.items[liveStart];
  return Math.max(estimateTokens(prompt), item?.message.role === "user" ? item.tokens : 0);
}

/**
 * Whether the path belongs to another session. Outside a turn, a session unknown to the engine starts empty: a path
 * that another session has is a fork only when its bootstrap or its first turn says so.
 */
async function isOfAnother(session: LosslessSession, context: RuntimeContext): Promise<boolean> {
  const { store, sessionId } = session;
  if (context.turnId !== undefined || store.has(sessionId)) return false;
  for await (const root of context.transcript.forward()) return store.get(root.id) !== undefined;
  return false;
}

/** Assembles one context. Call in the session's `exclusive`. Throws the errors of the store and the transcript cursor. */
export async function assembleSession(
  session: LosslessSession,
  params: AssembleParams,
): Promise<AssembleResult> {
  const { runtimeContext: context, prompt } = params;
  const { view } = session;
  const budget = params.tokenBudget ?? context?.tokenBudget ?? session.settings.trigger;
  const begins =
    prompt !== undefined || session.syncedTurn === undefined || session.syncedTurn !== context?.turnId;
  const hostCut = params.messages.find((message) => isHostSummary(message));
  const cutHead = hostCut && readSummary(textOf(hostCut));
  if (context && session.syncedTurn === undefined && (await isOfAnother(session, context)))
    return answer(session, [...params.messages], 1);
  if (context && (begins || (hostCut && cutHead !== view.epoch?.head)))
    await session.follow({ ...context, tokenBudget: budget }, { sessionKey: params.sessionKey });
  else if (!context && session.syncedTurn === undefined) view.load();
  const turnId = context?.turnId;
  let parts = partsOf(session, params);
  session.live = parts.live;
  session.liveAnchor = view.items[parts.liveStart]?.entryId;
  // A history that the host has cut begins with the head already.
  if (hostCut) parts = { ...parts, history: [] };
  const factor = session.factor(context);
  // The first call of a turn has the input as its prompt alone.
  const input = prompt === undefined ? 0 : inputTokens(session, parts.liveStart, prompt);
  const tokens = (total(parts.history, view.maxChars) + total(parts.live, view.maxChars) + input) * factor;
  const limit = Math.floor(budget / factor);
  const growing = prompt === undefined ? turnId : undefined;
  const free = limit - Math.ceil(tokens / factor);
  const recalled = view.epoch
    ? factor * (await recalledTokens(session, view.epoch, { turnId, growing, free }))
    : 0;
  const why = await dueOf(session, { tokens, recalled, budget, factor, begins });
  const finish = async (history: AgentMessage[], epoch = view.epoch): Promise<AssembleResult> => {
    if (!epoch || (hostCut && cutHead !== view.epoch?.head))
      return answer(session, [...history, ...parts.live], factor);
    const trigger = Math.floor(session.shares(budget).trigger / factor);
    // A turn that has begun keeps its block.
    const isThread = holdsThread(context);
    const isCold = prompt !== undefined && context !== undefined && !isThread && cacheIsCold(context);
    const sizes = { limit, trigger, keptTokens: trigger * KEPT_SHARE };
    const recall = { prompt, turnId, epoch, ...sizes, isThread, isCold, isCut: hostCut !== undefined };
    return answer(session, await withPassages(session, { ...parts, history }, recall), factor);
  };
  if (why === "no") return finish(parts.history);
  if (context && session.isEarly) {
    await session.follow(
      { ...context, tokenBudget: budget },
      { sessionKey: params.sessionKey, isWhole: true },
    );
    const { history, ...others } = partsOf(session, params);
    parts = { ...others, history: hostCut ? [] : history };
  }
  if (why !== "cold" && turnId !== undefined) {
    const wanted = wantedOf(session, { turnId, tokens, isOver: why === "must" });
    if (wanted !== "self" || hostCut) {
      const whole = await finish(parts.history);
      return wanted === "ask" ? { ...whole, wantsCompaction: true } : whole;
    }
  }
  const least = why === "must" ? 1 : session.shares(budget).minimumGain / factor;
  const isPreview = context !== undefined && turnId === undefined;
  const [{ draftRenewal }, { publishDraft }] = await Promise.all([renewing(), publishing()]);
  const draftOf = isPreview ? previewDraft : draftRenewal;
  const draft = await draftOf(session, parts, { budget, factor, least, turnId, cold: why === "cold" });
  // Outside a turn the context is only previewed, maybe with another budget: nothing is changed.
  if (draft && isPreview) return finish(previewOfDraft(session, draft, parts.liveStart), draft.epoch);
  if (draft && publishDraft(session.store, view, draft, { now: Date.now() }))
    parts = partsOf(session, params);
  return finish(parts.history);
}

/** The draft for a preview; the one before where nothing has changed since. */
async function previewDraft(
  session: LosslessSession,
  parts: Parts,
  renewal: Renewal,
): Promise<Draft | undefined> {
  const { maxChars } = session.view;
  const live = [parts.liveStart, total(parts.live, maxChars)];
  const key = JSON.stringify([session.store.revision, maxChars, ...live, Object.values(renewal)]);
  if (session.preview?.key !== key) {
    const { draftRenewal } = await renewing();
    session.preview = { key, draft: await draftRenewal(session, parts, renewal) };
  }
  return session.preview.draft;
}

/** Growth factor of the context after which a compaction that did not happen is requested again. */
const GROWN = 1.1;

/**
 * Who compacts: the host is asked first, so that its lanes record and announce each compaction. A host that did not
 * compact is asked again later; over the budget the engine compacts itself.
 */
function wantedOf(
  session: LosslessSession,
  { turnId, tokens, isOver }: { turnId: string; tokens: number; isOver: boolean },
): "ask" | "wait" | "self" {
  const { wanted } = session;
  const isAsked = wanted?.turnId === turnId;
  if (isAsked && isOver) return "self";
  if (isAsked && tokens < wanted.tokens * GROWN) return "wait";
  session.wanted = { turnId, tokens };
  return "ask";
}

function answer(session: LosslessSession, messages: AgentMessage[], factor: number): AssembleResult {
  const { maxChars } = session.view;
  const valid = repairPairs(messages);
  const estimatedTokens = Math.ceil(total(valid, maxChars) * factor);
  const { epoch, fingerprint } = session.projection;
  // A thread of a program begins again with another beginning; the own loop has only its epochs.
  const named = holdsThread(session.context) ? fingerprint : epoch;
  return {
    messages: valid,
    estimatedTokens,
    promptAuthority: "assembled",
    contextProjection: { mode: "thread_bootstrap", epoch: named, fingerprint },
  };
}

/** A thread of a program may hold the context. */
function holdsThread(context: RuntimeContext | undefined): boolean {
  return context !== undefined && context.agentHarnessId !== OWN_LOOP;
}

/** The provider's cache of the previous context has expired. */
function cacheIsCold({ promptCache }: RuntimeContext): boolean {
  return promptCache?.expiresAt !== undefined && promptCache.expiresAt <= Date.now();
}

/** The history with an epoch that is not published yet. */
function previewOfDraft(session: LosslessSession, draft: Draft, liveStart: number): AgentMessage[] {
  const { epoch } = draft;
  const { view, store } = session;
  const from = view.items.findIndex(({ placeId }) => placeId === epoch.firstKeptEntryId);
  const id = epoch.splitInputId;
  const input = id === undefined ? undefined : store.get(id, session.sessionId)?.message;
  const kept = view.items.slice(Math.max(0, from), liveStart).map(({ message }) => message);
  return [...(input && id !== undefined ? [{ ...input, entryId: id }] : []), headMessage(epoch), ...kept];
}

/** System prompt addition once a session was compacted: at most 600 characters. */
export function recallNote(tools: ReadonlySet<string> | undefined): string {
  const known = ["context_search", "context_describe", "context_expand"].filter((name) => tools?.has(name));
  const how =
    known.length === 0
      ? "If something you need is missing, say so and ask."
      : `Before you guess or ask again, find the original words with ${known.join(", ")}; ids of entries and parts can be expanded.`;
  return `The older part of this conversation is shown as a summary; nothing of it is lost. ${how}`;
}
