/** Tools by which a model finds what is not in its sight any more: search, describe, expand to the words, pin. */
import { callsOf, textOf } from "../../compaction/message-text.ts";
import type { AgentMessage } from "../../contract/message.ts";
import type { PluginTool, ToolContext } from "../../contract/plugin.ts";
import type { ToolOutcome } from "../../contract/tool.ts";
import { estimateTokens } from "../../tokens/estimate.ts";
import type { LosslessStore } from "./store/store.ts";
import type { SearchHit, StoredEntry, SummaryNode } from "./store/types.ts";

const PAGE_HITS = 10;
const MOST_HITS = 200;
const PAGE_TOKENS = 2_000;
const MOST_PAGE_TOKENS = 8_000;
/** Characters read for one token at most: a page is cut by characters, then checked by tokens. */
const TOKEN_CHARS = 4;

type Params = Record<string, unknown>;

function said(text: string, isError = false): ToolOutcome {
  return { content: [{ type: "text", text }], isError };
}

function text(params: Params, key: string): string {
  const value = params[key];
  return typeof value === "string" ? value.trim() : "";
}

function count(params: Params, key: string, fallback: number, most: number): number {
  const value = params[key];
  return typeof value === "number" && value >= 1 ? Math.min(most, Math.floor(value)) : fallback;
}

function dateOf(time: number): string {
  return new Date(time).toISOString().slice(0, 16).replace("T", " ");
}

function sourceOf(hit: SearchHit, context: ToolContext): string {
  const session =
    hit.sessionId === context.sessionId ? "this session" : `session ${hit.sessionKey ?? hit.sessionId}`;
  return hit.onPath ? session : `${session}, a branch that was left`;
}

function hitLine(hit: SearchHit, context: ToolContext): string {
  return `${hit.nodeId ?? hit.entryId} (${hit.role}, ${dateOf(hit.time)}, ${sourceOf(hit, context)}): ${hit.snippet}`;
}

async function search(store: LosslessStore, params: Params, context: ToolContext): Promise<ToolOutcome> {
  const query = text(params, "query");
  if (query === "") return said("Give the words to look for in `query`.", true);
  const page = count(params, "page", 1, MOST_HITS / PAGE_HITS);
  const isAll = params["scope"] === "all";
  if (!isAll && !store.session(context.sessionId)) return said("Nothing of this session is stored yet.");
  const hits = await store.search({
    query,
    limit: Math.min(MOST_HITS, page * PAGE_HITS),
    ...(isAll ? {} : { sessions: [context.sessionId] }),
  });
  const shown = hits.slice((page - 1) * PAGE_HITS);
  if (shown.length === 0)
    return said(page === 1 ? `Nothing was found for "${query}".` : "There are no more hits.");
  const more = hits.length === page * PAGE_HITS ? `\nMore: page ${page + 1}.` : "";
  return said(shown.map((hit) => hitLine(hit, context)).join("\n") + more);
}

/** A message as plain text: words, calls with their arguments, images by their kind. */
function wordsOf(message: AgentMessage): string {
  const parts = [textOf(message)];
  if (message.role === "assistant")
    for (const call of callsOf(message)) parts.push(`[call ${call.name} ${JSON.stringify(call.arguments)}]`);
  if (typeof message.content !== "string")
    for (const part of message.content) if (part.type === "image") parts.push(`[image ${part.mimeType}]`);
  return parts.filter((part) => part !== "").join("\n");
}

function roleOf(message: AgentMessage): string {
  return message.role === "toolResult" ? `result of ${message.toolName}` : message.role;
}

function entryWords(entry: StoredEntry): string {
  if (entry.message) return wordsOf(entry.message);
  const { entry: whole } = entry;
  if (whole?.type === "custom_message") return whole.content;
  return whole?.type === "compaction" ? whole.summary : "";
}

/** A part of a long text from `offset` on that has at most `maxTokens`, and where the next one begins. */
function slice(whole: string, offset: number, maxTokens: number): { part: string; next: number | undefined } {
  let end = Math.min(whole.length, offset + maxTokens * TOKEN_CHARS);
  while (end > offset + 1 && estimateTokens(whole.slice(offset, end)) > maxTokens)
    end = offset + Math.floor((end - offset) * 0.9);
  // A pair of surrogates is one character.
  if (end < whole.length && /[\uD800-\uDBFF]/.test(whole.charAt(end - 1))) end += 1;
  return { part: whole.slice(offset, end), next: end < whole.length ? end : undefined };
}

function expandEntry(entry: StoredEntry, params: Params): ToolOutcome {
  const offset = count(params, "offset", 0, Number.MAX_SAFE_INTEGER);
  const maxTokens = count(params, "max_tokens", PAGE_TOKENS, MOST_PAGE_TOKENS);
  const { part, next } = slice(entryWords(entry), offset, maxTokens);
  const role = entry.message ? roleOf(entry.message) : entry.kind;
  const more =
    next === undefined ? "" : `\n[More: context_expand with id ${entry.entryId} and offset ${next}.]`;
  return said(`${entry.entryId} (${role}):\n${part}${more}`);
}

/** The original words below a summary, of any depth, from the entry behind `after` on. */
function expandNode(store: LosslessStore, node: SummaryNode, params: Params): ToolOutcome {
  const maxTokens = count(params, "max_tokens", PAGE_TOKENS, MOST_PAGE_TOKENS);
  const after = text(params, "after");
  const page = store.range(node.sessionId, node.firstEntryId, node.lastEntryId, {
    kinds: ["message", "custom_message"],
    maxTokens,
    ...(after === "" ? {} : { after }),
  });
  const parts: string[] = [];
  let left = maxTokens;
  for (const entry of page.items) {
    const { part, next } = slice(entryWords(entry), 0, Math.max(50, left));
    const role = entry.message ? roleOf(entry.message) : "notice";
    parts.push(
      `${entry.entryId} (${role}): ${part}${next === undefined ? "" : ` [cut; expand ${entry.entryId} for all of it]`}`,
    );
    left -= estimateTokens(part);
  }
  const more =
    page.next === undefined ? "" : `\n[More: context_expand with id ${node.nodeId} and after ${page.next}.]`;
  return said(`${parts.join("\n")}${more}`);
}

function describeNode(store: LosslessStore, node: SummaryNode): string {
  const first = store.locate(node.sessionId, node.firstEntryId);
  const last = store.locate(node.sessionId, node.lastEntryId);
  const span =
    first && last
      ? `${last.position - first.position + 1} entries, ${dateOf(first.time)} to ${dateOf(last.time)}`
      : "";
  const by =
    node.origin === "extractive" ? "an extract, made without a model" : `by ${node.model ?? node.origin}`;
  const below = node.children.length === 0 ? "" : `\nMade of the parts ${node.children.join(", ")}.`;
  return (
    `${node.nodeId}: summary of the entries ${node.firstEntryId} to ${node.lastEntryId} (${span}; ` +
    `${node.sourceTokens} tokens), ${by}.${below}\n${node.text}`
  );
}

function describeEntry(store: LosslessStore, entry: StoredEntry, sessionId: string): string {
  const place = store.session(sessionId) ? store.locate(sessionId, entry.entryId) : undefined;
  const where = place
    ? place.onPath
      ? `entry ${place.position + 1} of this conversation`
      : "on a branch that was left"
    : "of another session";
  const role = entry.message ? roleOf(entry.message) : entry.kind;
  const files = store.payloads(entry.entryId).map(({ mime, size }) => `${mime}, ${size} bytes`);
  const opaque = files.length === 0 ? "" : ` It holds ${files.join("; ")}.`;
  const begin = slice(entryWords(entry), 0, 60).part;
  return `${entry.entryId}: ${role}, ${entry.tokens} tokens, ${dateOf(entry.time)}, ${where}.${opaque}\nIt begins: ${begin}`;
}

function found(
  store: LosslessStore,
  params: Params,
): { node: SummaryNode } | { entry: StoredEntry } | undefined {
  const id = text(params, "id");
  const node = store.node(id);
  if (node) return { node };
  const entry = store.get(id);
  return entry && { entry };
}

function unknown(params: Params): ToolOutcome {
  return said(`There is no entry or part "${text(params, "id")}"; context_search gives ids.`, true);
}

function pin(store: LosslessStore, params: Params, context: ToolContext): ToolOutcome {
  const id = text(params, "id");
  if (params["remove"] === true)
    return said(
      store.unpin(context.sessionId, id)
        ? `Entry ${id} is not pinned any more.`
        : `Entry ${id} was not pinned.`,
    );
  if (!store.session(context.sessionId) || !store.locate(context.sessionId, id)) return unknown(params);
  const note = text(params, "note");
  const isNew = store.pin(context.sessionId, {
    entryId: id,
    pinnedAt: Date.now(),
    ...(note === "" ? {} : { note }),
  });
  return said(
    isNew
      ? `Entry ${id} is pinned: it stays word for word through every compaction.`
      : `Entry ${id} was pinned already.`,
  );
}

const id = { type: "string", description: "Id of an entry or of a part of the summary." };

/**
 * The tools `context_search`, `context_describe`, `context_expand` and `context_pin` over the store that `store`
 * gives; while it gives none they say so. They read only; `context_pin` writes a pin.
 */
export function recallTools(store: () => LosslessStore | undefined): PluginTool[] {
  const tool = (
    name: string,
    description: string,
    properties: Record<string, unknown>,
    required: string[],
    run: (open: LosslessStore, params: Params, context: ToolContext) => ToolOutcome | Promise<ToolOutcome>,
  ): PluginTool => ({
    name,
    description,
    parameters: { type: "object", properties, required, additionalProperties: false },
    async execute(params, context) {
      const open = store();
      return open ? run(open, params, context) : said("The lossless engine is not in use.", true);
    },
  });
  return [
    tool(
      "context_search",
      "Searches the whole conversation, also what is only summarized in sight. Gives ids for context_expand.",
      {
        query: { type: "string", description: "Words, names or paths to look for." },
        scope: {
          type: "string",
          enum: ["session", "all"],
          description: "This session (default) or all of them.",
        },
        page: { type: "integer", minimum: 1 },
      },
      ["query"],
      search,
    ),
    tool(
      "context_describe",
      "What an entry or a part of the summary is, and where it stands.",
      { id },
      ["id"],
      (open, params, context) => {
        const at = found(open, params);
        if (!at) return unknown(params);
        return said(
          "node" in at ? describeNode(open, at.node) : describeEntry(open, at.entry, context.sessionId),
        );
      },
    ),
    tool(
      "context_expand",
      "The original words of an entry or of a part of the summary, in pages.",
      {
        id,
        after: { type: "string", description: "Of a part: the entry that the page before ended with." },
        offset: { type: "integer", minimum: 0, description: "Of an entry: character to go on from." },
        max_tokens: { type: "integer", minimum: 1, maximum: MOST_PAGE_TOKENS },
      },
      ["id"],
      (open, params) => {
        const at = found(open, params);
        if (!at) return unknown(params);
        return "node" in at ? expandNode(open, at.node, params) : expandEntry(at.entry, params);
      },
    ),
    tool(
      "context_pin",
      "Keeps an entry word for word in sight through every compaction; `remove` lets it go again.",
      { id, note: { type: "string" }, remove: { type: "boolean" } },
      ["id"],
      pin,
    ),
  ];
}
