/** The parts of a body: each byte has exactly one source, and the parts together are the body. */
import { isRecallBlock } from "../../contract/engine/recall-block.ts";
import type { WireApi } from "../../contract/harness/wire.ts";
import type { AgentMessage } from "../../contract/message.ts";
import type { Receipt } from "../../contract/session/receipt.ts";
import { JsonScanError, objectMembers } from "../../gateway/json/scan.ts";
import { estimateTokens } from "../../tokens/estimate.ts";
import { bodyBlocks, type Block } from "./body-blocks.ts";
import type { BodyPart, BodySource } from "./body-part.ts";
import { cachedParts } from "./cached-parts.ts";
import { keysOf, textIn } from "./content-keys.ts";
import { KnownParts, sourceOf, type Found } from "./known-parts.ts";
import { byteOffsets } from "./string-cuts.ts";
import { closesHead, joinedSegments, opensHead, systemSegments, type Segment } from "./text-segments.ts";

export interface PartsQuestion {
  api: WireApi;
  /** As the model got it, decoded. */
  body: Buffer;
  /** The body as the harness sent it, where the gateway changed it. */
  harness?: Buffer | undefined;
  receipt?: Pick<Receipt, "parts" | "usage"> | undefined;
  /** Messages of the receipt's entries, by id. */
  messages: ReadonlyMap<string, AgentMessage>;
}

/** A block with its source. */
interface Sourced {
  block: Block;
  source: BodySource;
  found?: Found | undefined;
  /** Divides the block's text. */
  segments?: readonly Segment[] | undefined;
  isMute?: boolean;
}

const QUOTE = 0x22;
/** Estimate for an image, whose bytes say nothing about it. */
const IMAGE_TOKENS = 1_500;
const LONG = 4_096;

/** Never throws for a body's content: what cannot be read is one part `unread`. An empty body has no parts. */
export function bodyParts(question: PartsQuestion): BodyPart[] {
  const { body, api, receipt } = question;
  if (body.length === 0) return [];
  let blocks: Block[];
  try {
    blocks = bodyBlocks(body, api);
  } catch (error) {
    if (!(error instanceof JsonScanError)) throw error;
    return [{ from: 0, to: body.length, source: "unread", tokens: estimateTokens(body.toString("utf8")) }];
  }
  const sourced = new Attribution(question).sourced(blocks);
  const parts = filled(
    body,
    grouped(sourced).flatMap((group) => partsOf(body, group)),
  );
  return cachedParts(parts, receipt?.usage);
}

class Attribution {
  readonly #question: PartsQuestion;
  readonly #known: KnownParts;
  /** Inside a summary that is sent in several blocks. */
  #isInHead = false;
  #hasContent = false;

  constructor(question: PartsQuestion) {
    this.#question = question;
    this.#known = new KnownParts(question.receipt, question.messages);
  }

  sourced(blocks: readonly Block[]): Sourced[] {
    const all = blocks.map((block) => this.#sourceOf(block));
    withMuted(all);
    return all;
  }

  #sourceOf(block: Block): Sourced {
    if (block.kind === "settings" || block.kind === "tools") return { block, source: block.kind };
    if (block.kind === "system") return this.#system(block, "system");
    const content = keysOf(block);
    const { text = "" } = content;
    if (content.isMute === true) return { block, source: "harness", isMute: true };
    if (this.#isInHead || (opensHead(text) && !this.#isJoined(text))) return this.#head(block, text);
    if (isRecallBlock(text)) return { block, source: "recall" };
    const found = this.#known.find(content);
    if (found) {
      this.#hasContent = true;
      return { block, source: sourceOf(found.part), found };
    }
    if (block.role === "system" || block.role === "developer")
      return this.#system(block, this.#hasContent ? "harness" : "system");
    const segments = text === "" ? undefined : joinedSegments(text, this.#known);
    return { block, source: "harness", segments };
  }

  /** Whether a summary and other messages are one text. */
  #isJoined(text: string): boolean {
    return !closesHead(text) && text.includes("\n</conversation_summary>\n");
  }

  #head(block: Block, text: string): Sourced {
    this.#isInHead = !closesHead(text);
    const found = this.#known.find(keysOf(block));
    return { block, source: "head", found };
  }

  #system(block: Block, rest: BodySource): Sourced {
    const text = textIn(block.value);
    const segments = text === undefined ? undefined : systemSegments(text, this.#known.system, rest);
    const [only] = segments ?? [];
    if (segments && segments.length > 1) return { block, source: rest, segments };
    const source = only?.source ?? rest;
    const { body, harness } = this.#question;
    // What the harness did not send is the engine's, also where its digest is not that of the receipt.
    const isNew = harness !== undefined && !harness.includes(body.subarray(block.start, block.end));
    return { block, source: source === rest && isNew ? "addition" : source };
  }
}

/** Thinking belongs to what follows it in its answer, else to what precedes it. */
function withMuted(all: Sourced[]): void {
  let next: Sourced | undefined;
  for (const each of all.toReversed()) {
    if (each.isMute !== true) next = each.block.role === "assistant" || isCall(each) ? each : undefined;
    else if (next) ({ source: each.source, found: each.found } = next);
  }
  let before: Sourced | undefined;
  for (const each of all) {
    if (each.isMute !== true) before = each;
    else if (each.source === "harness" && before && before.block.item === each.block.item)
      ({ source: each.source, found: each.found } = before);
  }
}

function isCall({ block }: Sourced): boolean {
  return block.role === "function_call" || block.role === "model" || block.role === "custom_tool_call";
}

/** Blocks of one element that have the same source and entry; such an element is one part. */
function grouped(sourced: readonly Sourced[]): Sourced[][] {
  const groups: Sourced[][] = [];
  for (const each of sourced) {
    const last = groups.at(-1);
    if (last?.[0] && each.block.item && last[0].block.item === each.block.item) last.push(each);
    else groups.push([each]);
  }
  return groups;
}

function partsOf(body: Buffer, group: readonly Sourced[]): BodyPart[] {
  const [first] = group;
  if (!first) return [];
  const isWhole = group.every(
    ({ source, found, segments }) =>
      !segments && source === first.source && found?.part === first.found?.part,
  );
  const { item } = first.block;
  if (!isWhole || !item) return group.flatMap((each) => blockParts(body, each));
  const span = { from: item.start, to: item.end };
  return [{ ...span, ...factsOf(first), at: item.at, tokens: tokensOf(body, group) }];
}

function factsOf({
  block,
  source,
  found,
}: Sourced): Pick<BodyPart, "source" | "role" | "entryIds" | "trimmed"> {
  const part = found?.part;
  return {
    source,
    ...(block.role === undefined ? {} : { role: block.role }),
    ...(part?.entryId === undefined ? {} : { entryIds: [part.entryId] }),
    ...(part?.trimmed ? { trimmed: part.trimmed } : {}),
  };
}

function blockParts(body: Buffer, sourced: Sourced): BodyPart[] {
  const { block, segments } = sourced;
  const { start, end, at } = block;
  const string = segments ? stringOf(body, block) : undefined;
  if (!segments || string === undefined)
    return [{ from: start, to: end, ...factsOf(sourced), at, tokens: tokensOf(body, [sourced]) }];
  const offsets = byteOffsets(body, string, [...segments.map(({ from }) => from), segments.at(-1)?.to ?? 0]);
  return segments.map(({ source, found, path }, index) => {
    const from = offsets[index] ?? start;
    const to = offsets[index + 1] ?? end;
    const tokens = source === "framing" ? 0 : estimateTokens(body.toString("utf8", from, to));
    const facts = factsOf({ block, source, found });
    return { from, to, ...facts, at, tokens, ...(path === undefined ? {} : { path }) };
  });
}

/** Offset of the quote that begins the block's text. */
function stringOf(body: Buffer, { start, end }: Block): number | undefined {
  if (body[start] === QUOTE) return start;
  const text = objectMembers(body, { start, end }).get("text");
  return text && body[text.start] === QUOTE ? text.start : undefined;
}

/** Estimate of the words; the receipt's where the blocks are one message. */
function tokensOf(body: Buffer, group: readonly Sourced[]): number {
  return group.reduce((sum, { block, source, found }) => {
    if (source === "settings") return sum;
    if (found && group.length === 1) return sum + found.part.tokens;
    const text = textIn(block.value) ?? body.toString("utf8", block.start, block.end);
    const isImage = text.length > LONG && /^\{"[^{]{0,60}"?(?:image|inlineData)/.test(text.slice(0, 80));
    return sum + (isImage ? IMAGE_TOKENS : estimateTokens(text));
  }, 0);
}

/** The parts with the framing between them. */
function filled(body: Buffer, parts: readonly BodyPart[]): BodyPart[] {
  const all: BodyPart[] = [];
  let at = 0;
  for (const part of parts.toSorted((a, b) => a.from - b.from)) {
    // An empty text has no bytes of its own.
    if (part.to <= part.from) continue;
    if (part.from > at) all.push({ from: at, to: part.from, source: "framing", tokens: 0 });
    all.push(part);
    at = part.to;
  }
  if (at < body.length) all.push({ from: at, to: body.length, source: "framing", tokens: 0 });
  return all;
}
