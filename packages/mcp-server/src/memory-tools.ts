/** The tools of the server. All of them only read. */
import * as z from "zod";
import type { LeftOutEntry } from "@pagurus/api/types";
import { PagurusError } from "@pagurus/contract/errors";
import { plural } from "@pagurus/core/data/plain-numbers";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import { textPart } from "@pagurus/core/tokens/text-part";
import { entryWords, minuteOf } from "./entry-words.ts";
import { maxTokens, oneLine, tool, type MemoryTool } from "./memory-place.ts";

/** Size of an entry among others; the tool `expand` has the rest. Tokens. */
const ENTRY_TOKENS = 500;
/** Limit on the images of one answer. */
const MOST_IMAGES = 4;
/** Characters of a title and of an entry's beginning. */
const TITLE_CHARS = 80;

const sessionParameter = z.string().min(1).describe("Key of a conversation, as sessions and search give it.");
const generation = z.string().min(1).optional().describe("Id of an earlier part of it, before /new.");
const sessions = tool({
  name: "sessions",
  title: "Kept conversations",
  description: "Lists the kept conversations, last used first: key, time, size, title.",
  input: z.object({
    limit: z.number().int().min(1).max(100).default(20),
    from: z.number().int().min(0).default(0).describe("Number of conversations to leave out at the start."),
  }),
  run({ sessions: visible }, { limit, from }) {
    const all = visible.list().toSorted((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1));
    if (all.length === 0) return { text: `No conversation is kept ${visible.place}.` };
    const lines = all.slice(from, from + limit).map((record) => {
      const part = record.current ? "" : `, earlier part ${record.sessionId}`;
      const title = oneLine(record.name ?? record.title ?? "", TITLE_CHARS);
      const size = plural(record.entryCount, "entry", "entries");
      return `${record.sessionKey}  ${minuteOf(record.updatedAt)}  ${size}${part}  ${title}`;
    });
    const next = from + limit;
    if (next < all.length) lines.push(`[${all.length - next} more: the same with from ${next}.]`);
    return { text: lines.join("\n") };
  },
});

const search = tool({
  name: "search",
  title: "Search kept conversations",
  description:
    "Searches the words of all kept conversations, also those that were compacted away. Gives passages with the conversation and entry; expand gives all words of an entry, read its neighbours.",
  input: z.object({
    query: z.string().min(1).max(2_000).describe("Words, names or paths."),
    session: sessionParameter.optional(),
    limit: z.number().int().min(1).max(50).default(10),
  }),
  run({ sessions: visible }, { query, limit, session: sessionKey }) {
    const asked = sessionKey === undefined ? { limit } : { limit, sessionKey };
    const hits = visible.search(query, asked);
    if (hits.length === 0)
      return { text: `Nothing was found for ${JSON.stringify(query)} ${visible.place}.` };
    const lines = hits.map((hit) => {
      const off = hit.onPath ? "" : ", undone";
      return `${hit.sessionKey} ${hit.entryId} (${hit.role}, ${minuteOf(hit.timestamp)}${off}): ${oneLine(hit.snippet, 600)}`;
    });
    return { text: lines.join("\n") };
  },
});

const read = tool({
  name: "read",
  title: "Read a conversation",
  description:
    "Reads a conversation in order, a page from its end, or before or after an entry. A long entry is cut; expand gives all of it.",
  input: z.object({
    session: sessionParameter,
    generation,
    before: z.string().optional().describe("Entry that the page ends before."),
    after: z.string().optional().describe("Entry that the page begins after."),
    max_tokens: maxTokens,
  }),
  async run({ sessions: visible }, { session: key, generation: id, before, after, max_tokens }) {
    if (before !== undefined && after !== undefined)
      throw new PagurusError("usage_invalid", "Both `before` and `after` are set; name one of them.");
    const { reader } = visible.open(key, id);
    try {
      const isForward = after !== undefined;
      const entries = isForward ? reader.cursor.forward(after) : reader.cursor.backward(before);
      const lines: string[] = [];
      let left = max_tokens;
      let edge: string | undefined;
      let isWhole = true;
      for await (const entry of entries) {
        const words = entryWords(entry);
        if (!words || (words.text === "" && words.images.length === 0)) continue;
        const { part, next } = textPart(words.text, 0, ENTRY_TOKENS);
        const images = words.images.length === 0 ? "" : ` [${plural(words.images.length, "image")}]`;
        const cut = next === undefined ? "" : ` […: expand ${entry.id} from ${next}]`;
        const line = `${entry.id} (${words.role}, ${minuteOf(entry.timestamp)}):${images} ${part}${cut}`;
        left -= estimateTokens(line);
        if (left < 0 && lines.length > 0) {
          isWhole = false;
          break;
        }
        lines.push(line);
        edge = entry.id;
      }
      if (lines.length === 0 || edge === undefined) return { text: "There is nothing more." };
      const text = (isForward ? lines : lines.toReversed()).join("\n");
      if (isWhole) return { text };
      const more = isForward ? `[More: read after ${edge}.]` : `[Earlier: read before ${edge}.]`;
      return { text: isForward ? `${text}\n${more}` : `${more}\n${text}` };
    } finally {
      reader.close();
    }
  },
});

const expand = tool({
  name: "expand",
  title: "All words of an entry",
  description: "The exact words of one entry, with its images, in pages.",
  input: z.object({
    session: sessionParameter,
    generation,
    id: z.string().min(1).describe("Id of the entry."),
    offset: z.number().int().min(0).default(0).describe("Character that the page begins at."),
    max_tokens: maxTokens,
  }),
  async run({ sessions: visible }, { session: key, generation: part, id, offset, max_tokens }) {
    const { reader } = visible.open(key, part);
    try {
      const entry = await reader.cursor.get(id);
      const words = entry && entryWords(entry);
      if (!words)
        throw new PagurusError(
          "entry_not_found",
          `The conversation ${JSON.stringify(key)} has no entry ${JSON.stringify(id)} with words; search and read give ids.`,
        );
      if (offset > 0 && offset >= words.text.length)
        throw new PagurusError(
          "usage_invalid",
          `The entry ${id} has ${words.text.length} characters; give an offset below that.`,
        );
      const page = textPart(words.text, offset, max_tokens);
      const more = page.next === undefined ? "" : `\n[More: expand with offset ${page.next}.]`;
      const images = offset === 0 ? words.images.slice(0, MOST_IMAGES) : [];
      return { text: page.part + more, images };
    } finally {
      reader.close();
    }
  },
});

const PLACES: Record<LeftOutEntry["where"], string> = {
  summarized: "in a summary",
  evicted: "not in the request",
  "off-path": "undone or replaced",
  trimmed: "cut in the request",
  obsolete: "replaced by newer words",
};

const leftOut = tool({
  name: "left_out",
  title: "Left out of the last request",
  description:
    "What the newest model request of a conversation left out, and where each entry is now; expand gives the words of an entry.",
  input: z.object({
    session: sessionParameter,
    from: z.number().int().min(0).default(0).describe("Number of entries to leave out at the start."),
    limit: z.number().int().min(1).max(200).default(50),
  }),
  async run(place, { session: key, from, limit }) {
    const { reader } = place.sessions.open(key);
    try {
      const entries = await place.leftOut(key);
      if (!entries)
        return { text: `No model request of the conversation ${JSON.stringify(key)} is recorded.` };
      if (entries.length === 0) return { text: "Nothing: the newest request holds the whole conversation." };
      const lines: string[] = [`${plural(entries.length, "entry", "entries")} left out:`];
      for (const { entryId, at, role, bytes, where, by } of entries.slice(from, from + limit)) {
        const entry = await reader.cursor.get(entryId);
        const beginning = oneLine((entry && entryWords(entry)?.text) ?? "", TITLE_CHARS);
        const cause = by === undefined ? "" : ` (by ${by})`;
        lines.push(
          `${entryId} (${role}, ${minuteOf(at)}, ${bytes} bytes) ${PLACES[where]}${cause}: ${beginning}`,
        );
      }
      const next = from + limit;
      if (next < entries.length) lines.push(`[${entries.length - next} more: the same with from ${next}.]`);
      return { text: lines.join("\n") };
    } finally {
      reader.close();
    }
  },
});

export const MEMORY_TOOLS: readonly MemoryTool[] = [sessions, search, read, expand, leftOut];
