/** Tools for what the keeper has of other agents. They only read. */
import * as z from "zod";
import { PagurusError } from "@pagurus/contract/errors";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import { textPart } from "@pagurus/core/tokens/text-part";
import { minuteOf } from "./entry-words.ts";
import {
  maxTokens,
  oneLine,
  tool,
  type KeptPlace,
  type KeptRecord,
  type MemoryPlace,
  type MemoryTool,
} from "./memory-place.ts";

/** Size of a record among others, tokens. */
const RECORD_TOKENS = 500;
/** Records before the one that is asked for. */
const BEFORE = 2;
const TITLE_CHARS = 60;

function timeOf(at: number | null): string {
  return at === null ? "no time" : minuteOf(new Date(at).toISOString());
}

function keptOf({ kept }: MemoryPlace): KeptPlace {
  if (kept) return kept;
  throw new PagurusError("usage_invalid", "Conversations of other agents are not served here.");
}

function lineOf({ num, role, at, text }: KeptRecord): string {
  const { part, next } = textPart(text, 0, RECORD_TOKENS);
  const cut = next === undefined ? "" : ` […: kept_read at ${num} with offset ${next}]`;
  return `${num} (${role}, ${timeOf(at)}): ${part}${cut}`;
}

/** Lines of records until the tokens are used up, at least one; `next`: the first record that has no place. */
function linesOf(
  kept: KeptPlace,
  conversation: number,
  from: { from?: number; isBackward?: boolean },
  most: { tokens: number; records?: number },
): { lines: string[]; next: number | undefined } {
  const lines: string[] = [];
  let left = most.tokens;
  let next: number | undefined;
  kept.read(conversation, from, (record) => {
    const line = lineOf(record);
    left -= estimateTokens(line);
    const isFull = lines.length > 0 && (left < 0 || lines.length >= (most.records ?? Infinity));
    if (isFull) next = record.num;
    else lines.push(line);
    return !isFull;
  });
  return { lines, next };
}

const search = tool({
  name: "kept_search",
  title: "Search what other agents wrote",
  description:
    "Searches the conversations of all agents on this machine that the keeper has (Claude Code, Codex and others), also those that they deleted. Gives passages with the numbers of the conversation and the record; kept_read reads there.",
  input: z.object({
    query: z.string().min(1).max(2_000).describe("Words, names or paths."),
    agent: z.string().min(1).optional().describe("Only of one program, for example codex."),
    limit: z.number().int().min(1).max(50).default(10),
  }),
  run(place, { query, agent, limit }) {
    const hits = keptOf(place).search(query, { limit, ...(agent !== undefined && { agent }) });
    if (hits.length === 0) return { text: `Nothing that is kept here has ${JSON.stringify(query)}.` };
    const lines = hits.map(({ num, conversation, role, at, snippet }) => {
      const title = oneLine(conversation.title ?? conversation.native, TITLE_CHARS);
      return `conversation ${conversation.id}, record ${num} (${conversation.agent}, ${role}, ${timeOf(at)}, ${title}): ${oneLine(snippet, 600)}`;
    });
    return { text: lines.join("\n") };
  },
});

const read = tool({
  name: "kept_read",
  title: "Read what another agent wrote",
  description:
    "Reads a kept conversation of another agent: its end, or a record with its neighbours, or what is before one. A long record is cut; at with an offset gives the rest of it.",
  input: z.object({
    conversation: z.number().int().min(1).describe("Number that kept_search gives."),
    at: z.number().int().min(1).optional().describe("Record that the page begins with."),
    before: z.number().int().min(1).optional().describe("Record that the page ends before."),
    offset: z
      .number()
      .int()
      .min(1)
      .optional()
      .describe("Character of the record `at`, of which the answer then has only the rest."),
    max_tokens: maxTokens,
  }),
  run(place, { conversation, at, before, offset, max_tokens: tokens }) {
    const kept = keptOf(place);
    if (at !== undefined && before !== undefined)
      throw new PagurusError("usage_invalid", "Both `at` and `before` are set; name one of them.");
    if (offset !== undefined) return restOf(kept, conversation, { at, offset, tokens });
    if (at === undefined) {
      const { lines, next } = linesOf(
        kept,
        conversation,
        { isBackward: true, ...(before !== undefined && { from: before }) },
        { tokens },
      );
      if (lines.length === 0) return { text: "There is nothing more." };
      const more =
        next === undefined ? [] : [`[Earlier: kept_read before ${Number.parseInt(lines.at(-1) ?? "", 10)}.]`];
      return { text: [...more, ...lines.toReversed()].join("\n") };
    }
    const neighbours = linesOf(
      kept,
      conversation,
      { from: at, isBackward: true },
      { tokens: tokens / 4, records: BEFORE },
    );
    const { lines, next } = linesOf(kept, conversation, { from: at }, { tokens });
    const more = next === undefined ? [] : [`[More: kept_read at ${next}.]`];
    return { text: [...neighbours.lines.toReversed(), ...lines, ...more].join("\n") };
  },
});

function restOf(
  kept: KeptPlace,
  conversation: number,
  { at, offset, tokens }: { at: number | undefined; offset: number; tokens: number },
): { text: string } {
  if (at === undefined) throw new PagurusError("usage_invalid", "An offset needs the record, `at`.");
  let text = "";
  kept.read(conversation, { from: at }, (record) => {
    const page = textPart(record.text, offset, tokens);
    text =
      page.part + (page.next === undefined ? "" : `\n[More: kept_read at ${at} with offset ${page.next}.]`);
    return false;
  });
  return { text: text === "" ? "There is nothing more." : text };
}

export const KEPT_TOOLS: readonly MemoryTool[] = [search, read];
