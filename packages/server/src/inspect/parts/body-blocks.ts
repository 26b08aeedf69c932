/**
 * Cuts a request's body into blocks: tools, system texts, elements of the conversation and their content, settings. What lies between
 * them is the JSON framing. In each protocol a block is the smallest value that can have a source of its own.
 */
import { asRecord, asString } from "@pagurus/core/data/record-fields";
import type { WireApi } from "@pagurus/contract/harness/wire";
import { arrayElements, objectMembers, readable, wholeMembers, type Span } from "@pagurus/gateway/json/scan";
import type { Block, Item } from "./block.ts";

interface Shape {
  system?: string;
  list: string;
}

const SHAPES: Readonly<Record<WireApi, Shape>> = {
  "openai-responses": { system: "instructions", list: "input" },
  "anthropic-messages": { system: "system", list: "messages" },
  "openai-completions": { list: "messages" },
  "google-generative-ai": { system: "systemInstruction", list: "contents" },
};

/** Members of an element that hold its content, in any protocol. */
const CONTENT = ["content", "parts", "tool_calls"] as const;
const ARRAY = 0x5b;
const OBJECT = 0x7b;

/** Elements of the list after which other work of the process may have its turn. */
const SLICE_ITEMS = 128;

/**
 * The blocks of a body in order, without overlaps; yields where other work may be done in between. Throws `JsonScanError` for a body that
 * is no JSON object.
 */
export function* bodyBlocks(body: Buffer, api: WireApi): Generator<undefined, Block[]> {
  const { system, list } = SHAPES[api];
  const blocks: Block[] = [];
  for (const [name, span] of wholeMembers(body)) {
    if (name === "tools") blocks.push(...toolBlocks(body, span));
    else if (name === system) blocks.push(...systemBlocks(body, name, span));
    else if (name === list) yield* listBlocks(body, name, { span, blocks });
    else blocks.push({ kind: "settings", at: name, start: span.start, end: span.end });
  }
  return blocks.toSorted((a, b) => a.start - b.start);
}

function isArray(body: Buffer, { start }: Span): boolean {
  return body[start] === ARRAY;
}

function elements(body: Buffer, name: string, span: Span): { at: string; span: Span }[] {
  if (!isArray(body, span)) return [{ at: name, span }];
  return arrayElements(body, span).map((each, index) => ({ at: `${name}[${index}]`, span: each }));
}

function toolBlocks(body: Buffer, span: Span): Block[] {
  return elements(body, "tools", span).flatMap(({ at, span: each }) => {
    // Google's API has the tools of a list inside one element.
    const inner =
      body[each.start] === OBJECT ? objectMembers(body, each).get("functionDeclarations") : undefined;
    const tools = inner ? elements(body, `${at}.functionDeclarations`, inner) : [{ at, span: each }];
    return tools.map((tool): Block => ({ ...tool.span, kind: "tools", at: tool.at, role: "tools" }));
  });
}

function systemBlocks(body: Buffer, name: string, span: Span): Block[] {
  const inner = body[span.start] === OBJECT ? objectMembers(body, span).get("parts") : undefined;
  const found = inner ? elements(body, `${name}.parts`, inner) : elements(body, name, span);
  return found.map(({ at, span: each }) => ({
    ...each,
    kind: "system",
    at,
    role: "system",
    value: readable(body, each),
  }));
}

function* listBlocks(
  body: Buffer,
  name: string,
  { span, blocks }: { span: Span; blocks: Block[] },
): Generator<undefined> {
  for (const [index, { at, span: each }] of elements(body, name, span).entries()) {
    blocks.push(...itemBlocks(body, at, each));
    if (index % SLICE_ITEMS === SLICE_ITEMS - 1) yield;
  }
}

function itemBlocks(body: Buffer, at: string, span: Span): Block[] {
  const value = readable(body, span);
  const fields = asRecord(value);
  // A string in place of the list, or an element that only its place is known of.
  if (!fields) return [{ ...span, kind: "content", at, role: "user", value }];
  const role = asString(fields["role"]) ?? asString(fields["type"]) ?? "user";
  const item: Item = { ...span, at, role, fields };
  const members = objectMembers(body, span);
  const contents = CONTENT.flatMap((name) => {
    const content = members.get(name);
    // Results of the Responses API have their content elsewhere, and are one block.
    if (!content || asString(fields["call_id"]) !== undefined) return [];
    const parsed = fields[name];
    if (Array.isArray(parsed) && isArray(body, content))
      return elements(body, `${at}.${name}`, content).map((block, index) => ({
        ...block,
        value: parsed[index] as unknown,
      }));
    return parsed === null || parsed === "" ? [] : [{ at: `${at}.${name}`, span: content, value: parsed }];
  });
  if (contents.length === 0) return [{ ...span, kind: "content", at, role, value, item }];
  return contents.map((block) => ({
    ...block.span,
    kind: "content",
    at: block.at,
    role,
    value: block.value,
    item,
  }));
}
