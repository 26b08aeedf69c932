/** The parts of a body: each byte has exactly one source, and the parts together are the body. */
import { isRecallBlock } from "@pagurus/contract/engine/recall-block";
import type { WireApi } from "@pagurus/contract/harness/wire";
import type { AgentMessage } from "@pagurus/contract/message";
import type { Receipt } from "@pagurus/contract/session/receipt";
import { JsonScanError, objectMembers } from "@pagurus/gateway/json/scan";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import type { Block } from "./block.ts";
import { bodyBlocks } from "./body-blocks.ts";
import type { PartSource } from "@pagurus/api/types";
import type { BodyPart } from "./body-part.ts";
import { cachedParts } from "./cached-parts.ts";
import { keysIn, textIn } from "./content-keys.ts";
import { KnownParts, sourceOf, type Found } from "./known-parts.ts";
import { byteOffsets } from "./string-cuts.ts";
import { closesHead, joinedSegments, opensHead, systemSegments, type Segment } from "./text-segments.ts";
import { defined } from "@pagurus/core/data/defined";

export interface PartsQuestion {
  api: WireApi;
  /** As the model got it, decoded. */
  body: Buffer;
  /** The body as the harness sent it, where the gateway changed it. */
  harness?: Buffer | undefined;
  receipt?: Pick<Receipt, "parts" | "usage"> | undefined;
  /** Of the body, as `readBlocks` has them. */
  blocks: readonly Block[] | undefined;
  /** Messages of the receipt's entries, by id; without those whose blocks have their digest. */
  messages: ReadonlyMap<string, AgentMessage>;
}

/** A block with its source. */
interface Sourced {
  block: Block;
  source: PartSource;
  found?: Found | undefined;
  /** Divides the block's text. */
  segments?: readonly Segment[] | undefined;
  isMute?: boolean;
}

const QUOTE = 0x22;
/** Estimate for an image, whose bytes say nothing about it. */
const IMAGE_TOKENS = 1_500;
const LONG_TEXT = 4_096;

/** Blocks whose sources are found before other work of the process may have its turn. */
const SLICE_BLOCKS = 128;

/** Never throws for a body's content: what cannot be read is one part `unread`. An empty body has no parts. */
export function bodyParts(question: Omit<PartsQuestion, "blocks">): BodyPart[] {
  return atOnce(partsInSlices({ ...question, blocks: atOnce(readBlocks(question)) }));
}

function atOnce<T>(work: Generator<undefined, T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** The blocks of a body; undefined for one that is not the JSON of its protocol. Yields as `partsInSlices` does. */
export function* readBlocks({
  body,
  api,
}: Pick<PartsQuestion, "body" | "api">): Generator<undefined, Block[] | undefined> {
  try {
    return yield* bodyBlocks(body, api);
  } catch (error) {
    if (error instanceof JsonScanError) return undefined;
    throw error;
  }
}

/** As `bodyParts`; other work of the process can have its turn where it yields: a long body takes some 100 ms. */
export function* partsInSlices(question: PartsQuestion): Generator<undefined, BodyPart[]> {
  const { body, blocks, receipt } = question;
  if (body.length === 0) return [];
  if (!blocks)
    return [{ from: 0, to: body.length, source: "unread", tokens: estimateTokens(body.toString("utf8")) }];
  const sourced = yield* new Attribution(question).sourced(blocks);
  const parts: BodyPart[] = [];
  for (const [index, group] of grouped(sourced).entries()) {
    parts.push(...partsOf(body, group));
    if (index % SLICE_BLOCKS === SLICE_BLOCKS - 1) yield;
  }
  return cachedParts(filled(body, parts), receipt?.usage);
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

  *sourced(blocks: readonly Block[]): Generator<undefined, Sourced[]> {
    const all: Sourced[] = [];
    for (const block of blocks) {
      all.push(this.#sourceOf(block));
      if (all.length % SLICE_BLOCKS === 0) yield;
    }
    withMuted(all);
    return all;
  }

  #sourceOf(block: Block): Sourced {
    if (block.kind === "settings" || block.kind === "tools") return { block, source: block.kind };
    if (block.kind === "system") return this.#system(block, "system");
    const content = keysIn(block);
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
    const found = this.#known.find(keysIn(block));
    return { block, source: "head", found };
  }

  #system(block: Block, rest: PartSource): Sourced {
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
    ...defined({ role: block.role }),
    ...(part?.entryId === undefined ? {} : { entryIds: [part.entryId] }),
    ...defined({ trimmed: part?.trimmed }),
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
    return { from, to, ...facts, at, tokens, ...defined({ path }) };
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
    const isImage = text.length > LONG_TEXT && /^\{"[^{]{0,60}"?(?:image|inlineData)/.test(text.slice(0, 80));
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
