/** Whether the head that is there gets one more chapter, or begins anew. */
import type { AgentMessage } from "../../contract/message.ts";
import type { Pace } from "../../platform/pace.ts";
import { chaptersOf } from "./chapters.ts";
import type { Epoch, Facts } from "./epoch.ts";
import type { News } from "./facts.ts";
import { addChapter, FILL, NODE_SHARE, renderHead, type Head } from "./head.ts";
import { fitNodes } from "./nodes.ts";
import type { NewNode, SummaryNode } from "./store/types.ts";

interface HeadRequest {
  sessionId: string;
  before: Epoch | undefined;
  /** What a provider has cached of the head is of no use: it is asked for anew, or stands behind another input. */
  isNew: boolean;
  facts: Facts;
  news: News;
  /** Of the head that is there, as good as they are by now. */
  nodes: readonly NewNode[];
  /** The same by what they have taken the place of. */
  present: ReadonlyMap<string, readonly NewNode[]>;
  /** Of what leaves. */
  added: readonly NewNode[];
  messages: ReadonlyMap<string, AgentMessage>;
  pins: readonly string[];
  /** Uncorrected tokens of the head, of the user's words in it, and of what leaves. */
  maxTokens: number;
  userTokens: number;
  leaving: number;
  signal: AbortSignal | undefined;
  pace: Pace;
}

interface MadeHead extends Head {
  /** That the head tells. */
  nodes: NewNode[];
  /** Of these, what was condensed for it, children first. */
  made: NewNode[];
}

function inOrder(nodes: readonly NewNode[]): SummaryNode[] {
  return nodes.map((node, order) => ({ ...node, order }));
}

async function withChapter(request: HeadRequest): Promise<MadeHead | undefined> {
  const { sessionId, before, isNew, nodes, present, added, pins, maxTokens, signal } = request;
  const chapters = before && chaptersOf(before.head, before.chapters);
  if (isNew || !before || !chapters || pins.join() !== before.pins?.join()) return undefined;
  const made: NewNode[] = [];
  // What a model has written is not cut down to an extract for the sake of room.
  const isExtract = added.every(({ origin }) => origin === "extractive");
  const most = isExtract ? Math.floor(maxTokens * NODE_SHARE * (1 - FILL)) : Infinity;
  const fitted = await fitNodes(sessionId, added, most, (node) => made.push(node), signal);
  const head = await addChapter(
    {
      ...request,
      chapters,
      present: chapters.map(({ nodes: ids }) => inOrder(ids.flatMap((id) => present.get(id) ?? []))),
      nodes: inOrder(fitted),
      filesBefore: before.facts.files,
    },
    request.pace,
  );
  return head && { ...head, nodes: [...nodes, ...fitted], made };
}

/** Throws `turn_aborted` when the request's signal fires. */
export async function makeHead(request: HeadRequest): Promise<MadeHead> {
  const more = await withChapter(request);
  if (more) return more;
  const { sessionId, nodes, added, maxTokens, signal } = request;
  const made: NewNode[] = [];
  const most = Math.floor(maxTokens * NODE_SHARE * FILL);
  const fitted = await fitNodes(sessionId, [...nodes, ...added], most, (node) => made.push(node), signal);
  const head = await renderHead({ ...request, nodes: inOrder(fitted) }, FILL, request.pace);
  return { ...head, nodes: fitted, made };
}
