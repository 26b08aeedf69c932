/** Recall tools, by which a model finds content that left its context: search, describe, expand to the full text, pin. */
import type { PluginTool, ToolContext } from "@pagurus/contract/host/plugin";
import type { ToolOutcome } from "@pagurus/contract/harness/tool";
import { loadOnce } from "@pagurus/core/platform/load-once";
import type { LosslessStore } from "../store/lossless-store.ts";
import { MOST_PAGE_TOKENS, PAGE_TOKENS, SEARCH_SCOPES, textOutcome } from "./recall-answer.ts";

/** Loaded by the first call. */
const calls = loadOnce(() => import("./recall-calls.ts"));

const id = { type: "string", description: "Id of an entry or of a part of the summary." };
/** A schema of a few tokens, since every first request has it: numbers out of bounds are corrected by `count`. */
const maxTokens = { type: "integer", description: `Default ${PAGE_TOKENS}, at most ${MOST_PAGE_TOKENS}.` };

export interface RecallOptions {
  /** Limit on pinned text in a summary, tokens; a pin beyond it gets a warning. */
  pinTokens?: number;
  /** Whether something of a session may be kept here; default: of each. */
  mayKeep?: (sessionKey: string) => boolean;
}

/** Parameters that say what a search looks for; the first one is required. */
const SEARCHED = {
  query: { type: "string", description: "Words, names or paths to look for; a question will do." },
  scope: {
    type: "string",
    enum: SEARCH_SCOPES,
    description: "This session (default), all of this folder, or all.",
  },
  from: { type: "string", description: "First date (UTC): 2026, 2026-05 or 2026-05-17." },
  to: { type: "string", description: "Last date." },
  who: { type: "string", description: "Author: user, assistant, tool, or a person's name in a group." },
  order: {
    type: "string",
    enum: ["best", "time"],
    description: "`time`: oldest first, for order and number.",
  },
};

/**
 * The tools `context_search`, `context_describe`, `context_expand` and `context_pin` over the store that `store` returns
 * for a call; without one they report that nothing is stored. All are read-only except `context_pin`.
 */
export function recallTools(
  store: (context: ToolContext) => LosslessStore | undefined,
  { pinTokens = Infinity, mayKeep = () => true }: RecallOptions = {},
): PluginTool[] {
  const tool = (
    name: string,
    description: string,
    properties: Record<string, unknown>,
    run: (open: LosslessStore, params: Record<string, unknown>, context: ToolContext) => Promise<ToolOutcome>,
  ): PluginTool => ({
    name,
    description,
    parameters: {
      type: "object",
      properties,
      // The first parameter is the required one.
      required: Object.keys(properties).slice(0, 1),
      additionalProperties: false,
    },
    async execute(params, context) {
      const open = store(context);
      return open
        ? run(open, params, context)
        : textOutcome(
            "Nothing of this session is kept yet, so there is nothing to look at; try it in a later turn.",
            true,
          );
    },
  });
  return [
    tool(
      "context_search",
      "Searches the whole conversation, also what is only summarized in sight. Gives the passages that answer best, " +
        "with ids for context_expand.",
      {
        ...SEARCHED,
        page: { type: "integer" },
        max_tokens: maxTokens,
      },
      async (...call) => (await calls()).search(...call, mayKeep),
    ),
    tool(
      "context_describe",
      "What an entry or a part of the summary is, and where it stands.",
      { id },
      async (...call) => (await calls()).describe(...call),
    ),
    tool(
      "context_expand",
      "The original words of an entry (with its images) or of a part of the summary, in pages.",
      {
        id,
        after: { type: "string", description: "Of a part: the entry that the page before ended with." },
        offset: { type: "integer", description: "Of an entry: character to go on from." },
        max_tokens: maxTokens,
      },
      async (...call) => (await calls()).expand(...call),
    ),
    tool(
      "context_pin",
      "Keeps an entry word for word in sight through every compaction; `remove` lets it go again.",
      {
        id: { type: "string", description: "Id of an entry." },
        note: { type: "string" },
        remove: { type: "boolean" },
      },
      async (...call) => (await calls()).pinTool(...call, pinTokens),
    ),
  ];
}
