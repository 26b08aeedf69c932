/** Renders entries and summaries for a model: descriptions, and the original text in pages. */
import type { ImagePart } from "@pagurus/contract/message";
import type { ToolOutcome } from "@pagurus/contract/harness/tool";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import type { LosslessStore } from "../store/lossless-store.ts";
import type { StoredEntry, SummaryNode } from "../store/store-types.ts";
import { entryWords } from "../store/search/entry-words.ts";
import { textPart } from "@pagurus/core/tokens/text-part";
import { dateOf } from "./pages.ts";
import { textOutcome } from "./recall-answer.ts";

/** Overhead of a part: ids, how to continue. Tokens. */
const FRAME = 60;
/** Minimum size of a useful part of an entry. Tokens. */
const LEAST_PART = 50;
/** Limit on the images of one answer. */
const MOST_IMAGES = 4;
const BEGINNING = 60;

function roleOf({ message, kind }: StoredEntry): string {
  if (message) return message.role === "toolResult" ? `result of ${message.toolName}` : message.role;
  return kind === "custom_message" ? "notice" : kind;
}

function imagesOf({ message }: StoredEntry): ImagePart[] {
  if (!message || typeof message.content === "string") return [];
  return message.content.filter((part): part is ImagePart => part.type === "image");
}

function sizeOf(base64: string): number {
  return Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
}

/** Text of an entry from a character on, with its images on the first page. */
export function expandEntry(entry: StoredEntry, offset: number, maxTokens: number): ToolOutcome {
  const { entryId } = entry;
  const { text } = entryWords(entry);
  if (text === "") return textOutcome(`${entryId} (${roleOf(entry)}) holds no words.`);
  if (offset >= text.length)
    return textOutcome(`${entryId} has ${text.length} characters; give an offset below that.`, true);
  const { part, next } = textPart(text, offset, Math.max(LEAST_PART, maxTokens - FRAME));
  const more = next === undefined ? "" : `\n[More: context_expand with id ${entryId} and offset ${next}.]`;
  const outcome = textOutcome(`${entryId} (${roleOf(entry)}):\n${part}${more}`);
  if (offset === 0) outcome.content.push(...imagesOf(entry).slice(0, MOST_IMAGES));
  return outcome;
}

/** Original text below a summary of any depth, starting after the entry `after`. */
export function expandNode(
  store: LosslessStore,
  node: SummaryNode,
  { after, maxTokens }: { after: string; maxTokens: number },
): ToolOutcome {
  if (!store.session(node.sessionId))
    return textOutcome(
      `The session that the part ${node.nodeId} was made in is deleted, with its words.`,
      true,
    );
  const problem = after === "" ? undefined : problemOf(store, node, after);
  if (problem !== undefined) return textOutcome(problem, true);
  const page = store.range(node.sessionId, node.firstEntryId, node.lastEntryId, {
    kinds: ["message", "custom_message"],
    maxTokens,
    ...(after === "" ? {} : { after }),
  });
  const lines: string[] = [];
  let left = maxTokens - FRAME;
  let last: string | undefined;
  for (const entry of page.items) {
    const head = `${entry.entryId} (${roleOf(entry)}): `;
    const { text } = entryWords(entry);
    const tokens = estimateTokens(`${head}${text}\n`);
    if (tokens > left && lines.length > 0) break;
    lines.push(head + (tokens > left ? beginningOf(entry, text, left) : text));
    left -= tokens;
    last = entry.entryId;
  }
  if (last === undefined) return textOutcome(`There is nothing more in the part ${node.nodeId}.`);
  const isEnd = page.next === undefined && page.items.at(-1)?.entryId === last;
  const more = isEnd ? "" : `\n[More: context_expand with id ${node.nodeId} and after ${last}.]`;
  return textOutcome(lines.join("\n") + more);
}

/** The beginning of an entry that is longer than a page. */
function beginningOf({ entryId }: StoredEntry, text: string, tokens: number): string {
  const { part } = textPart(text, 0, Math.max(LEAST_PART, tokens - FRAME));
  return `${part} [cut; context_expand with id ${entryId} and offset ${part.length} for the rest of it]`;
}

function problemOf(store: LosslessStore, node: SummaryNode, after: string): string | undefined {
  const [first, last, at] = [node.firstEntryId, node.lastEntryId, after].map((entryId) =>
    store.locate(node.sessionId, entryId),
  );
  if (first && last && at && at.position >= first.position && at.position <= last.position) return undefined;
  return `The entry "${after}" is not in the part ${node.nodeId}; give the id that the page before names, or none.`;
}

export function describeNode(store: LosslessStore, node: SummaryNode): string {
  const isThere = store.session(node.sessionId) !== undefined;
  const first = isThere ? store.locate(node.sessionId, node.firstEntryId) : undefined;
  const last = isThere ? store.locate(node.sessionId, node.lastEntryId) : undefined;
  const span =
    first && last
      ? `${last.position - first.position + 1} entries, ${dateOf(first.time)} to ${dateOf(last.time)}; `
      : "";
  const by =
    node.origin === "extractive" ? "an extract, made without a model" : `by ${node.model ?? node.origin}`;
  const below = node.children.length === 0 ? "" : `\nMade of the parts ${node.children.join(", ")}.`;
  return (
    `${node.nodeId}: summary of the entries ${node.firstEntryId} to ${node.lastEntryId} (${span}` +
    `${node.sourceTokens} tokens), ${by}. context_expand gives the words.${below}\n${node.text}`
  );
}

/** Describes an entry. `sessionId` is the session that makes the request. */
export function describeEntry(store: LosslessStore, entry: StoredEntry, sessionId: string): string {
  const { entryId, supersedes } = entry;
  const place = store.session(sessionId) ? store.locate(sessionId, entryId) : undefined;
  const where = place
    ? place.onPath
      ? `entry ${place.position + 1} of this conversation`
      : "on a branch of this conversation that was left"
    : "of another session";
  // Small images are stored inline.
  const small = imagesOf(entry).map(({ mimeType, data }) => ({ mime: mimeType, size: sizeOf(data) }));
  const large = store.payloads(entryId);
  const files = (large.length > 0 ? large : small).map(({ mime, size }) => `${mime}, ${size} bytes`);
  const held = files.length === 0 ? "" : ` It holds ${files.join("; ")}.`;
  const replaced = supersedes === undefined ? "" : ` It replaces the entry ${supersedes}, which is kept too.`;
  const { text } = entryWords(entry);
  const begin = text === "" ? "It holds no words." : `It begins: ${textPart(text, 0, BEGINNING).part}`;
  return (
    `${entryId}: ${roleOf(entry)}, ${entry.tokens} tokens, ${text.length} characters, ${dateOf(entry.time)}, ` +
    `${where}.${replaced}${held}\n${begin}`
  );
}
