/** Makes a head: appends a chapter to the existing one, or renders it from scratch. */
import { NO_RULES, type LastingRules } from "@pagurus/core/compaction/summary/lasting-rules";
import type { AgentMessage } from "@pagurus/contract/message";
import type { Pace } from "@pagurus/core/platform/pace";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import { chaptersOf } from "./chapters.ts";
import type { Epoch, Facts } from "../epoch.ts";
import type { News } from "./carried-facts.ts";
import { addChapter, FILL, NODE_SHARE, renderHead, type Head } from "./head.ts";
import { withoutEnded } from "./rule-history.ts";
import { fitNodes } from "../summary/summary-nodes.ts";
import type { NewNode, SummaryNode } from "../store/store-types.ts";

interface HeadRequest {
  sessionId: string;
  before: Epoch | undefined;
  /** The provider's cache of the head is useless: a full rendering was requested, or the head follows another input. */
  isNew: boolean;
  facts: Facts;
  /** Rules to list, without those that the kept messages take back. Default: those of the facts. */
  lasting?: LastingRules;
  news: News;
  /** Best available nodes of the existing head. */
  nodes: readonly NewNode[];
  /** The same by the id of the node they replace. */
  present: ReadonlyMap<string, readonly NewNode[]>;
  /** Nodes of the removed messages. */
  added: readonly NewNode[];
  messages: ReadonlyMap<string, AgentMessage>;
  pins: readonly string[];
  /** Uncorrected tokens: limits on the head and on the user's messages in it, and the removed messages. */
  maxTokens: number;
  userTokens: number;
  /** Of the user's messages, only those with attached data are shown word for word; what they demand is listed. */
  hidesTalk: boolean;
  leaving: number;
  signal: AbortSignal | undefined;
  pace: Pace;
}

interface MadeHead extends Head {
  /** Nodes in the head. */
  nodes: NewNode[];
  /** Nodes that were condensed for it, children first. */
  made: NewNode[];
}

function inOrder(nodes: readonly NewNode[]): SummaryNode[] {
  return nodes.map((node, order) => ({ ...node, order }));
}

async function withChapter(request: HeadRequest): Promise<MadeHead | undefined> {
  const { sessionId, before, isNew, hidesTalk, facts, nodes, present, added, pins, maxTokens, signal } =
    request;
  const chapters = before && chaptersOf(before.head, before.chapters);
  if (isNew || hidesTalk || !before || !chapters || pins.join() !== before.pins?.join()) return undefined;
  const { lasting = facts.lasting ?? NO_RULES } = request;
  const made: NewNode[] = [];
  // A model's summaries are not reduced to an extract to fit the budget.
  const isExtract = added.every(({ origin }) => origin === "extractive");
  const most = isExtract ? Math.floor(maxTokens * NODE_SHARE * (1 - FILL)) : Infinity;
  const fitted = await fitNodes(sessionId, added, most, (node) => made.push(node), signal);
  const head = await addChapter(
    {
      ...request,
      // A rule that was taken back leaves the lists; the rest keeps its bytes.
      chapters: chapters.map((chapter) => withoutEnded(chapter, lasting)),
      present: chapters.map(({ nodes: ids }) => inOrder(ids.flatMap((id) => present.get(id) ?? []))),
      nodes: inOrder(fitted),
      filesBefore: before.facts.files,
    },
    request.pace,
  );
  return head && { ...head, nodes: [...nodes, ...fitted], made };
}

/** Limit on a model's summaries, as a share of what the head's other parts leave. */
const MODEL_SHARE = 0.6;

/**
 * Limit on the summaries in a full rendering: their share, and for a model's summaries also what the other parts leave.
 * Exact strings do not count as a part here: a model's summary names the important ones.
 */
async function summaryTokens(request: HeadRequest, all: readonly NewNode[]): Promise<number> {
  const { maxTokens, pace } = request;
  const share = Math.floor(maxTokens * NODE_SHARE * FILL);
  const wanted = all.reduce((sum, { tokens }) => sum + tokens, 0);
  if (wanted <= share || all.every(({ origin }) => origin !== "model")) return share;
  const facts = { ...request.facts, strings: [] };
  const { text } = await renderHead({ ...request, facts, nodes: [] }, FILL, pace);
  const left = Math.floor(maxTokens * FILL) - estimateTokens(text);
  return Math.max(share, Math.min(left, Math.floor(maxTokens * MODEL_SHARE * FILL)));
}

/** Makes the head. Throws `turn_aborted` when the request's signal fires. */
export async function makeHead(request: HeadRequest): Promise<MadeHead> {
  const more = await withChapter(request);
  if (more) return more;
  const { sessionId, nodes, added, signal } = request;
  const made: NewNode[] = [];
  const most = await summaryTokens(request, [...nodes, ...added]);
  const fitted = await fitNodes(sessionId, [...nodes, ...added], most, (node) => made.push(node), signal);
  const head = await renderHead({ ...request, nodes: inOrder(fitted) }, FILL, request.pace);
  return { ...head, nodes: fitted, made };
}
