/** Response objects as clients get them: under our id, with every field of the published schema (Open Responses, ResponseResource). */
import { isRecord, recordOf, recordsOf, type Fields } from "@pagurus/core/data/record-fields";

export interface ResponseFields {
  id: string;
  /** Unix time, s. */
  created: number;
  /** Ref of the model, as the client named it. */
  model: string;
  isStored: boolean;
  isBackground: boolean;
  previous?: string;
  conversation?: string;
  /** The client's request. */
  asked: Readonly<Record<string, unknown>>;
}

/** What a provider that reports less did not report. */
const DEFAULTS = {
  completed_at: null,
  incomplete_details: null,
  instructions: null,
  output: [],
  error: null,
  tools: [],
  tool_choice: "auto",
  truncation: "disabled",
  parallel_tool_calls: true,
  text: { format: { type: "text" } },
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: 0,
  temperature: 1,
  reasoning: { effort: null, summary: null },
  user: null,
  usage: null,
  max_output_tokens: null,
  max_tool_calls: null,
  service_tier: "default",
  metadata: {},
  safety_identifier: null,
  prompt_cache_key: null,
};

/** Fields that repeat the request; the model's server saw another one where the engine added rules or tools. */
const REPEATED = [
  "instructions",
  "tools",
  "tool_choice",
  "text",
  "top_p",
  "top_logprobs",
  "temperature",
  "parallel_tool_calls",
  "reasoning",
  "user",
  "max_output_tokens",
  "metadata",
  "safety_identifier",
  "prompt_cache_key",
] as const;

/** Those that are never taken from the model's server. */
const OUR_OWN: ReadonlySet<string> = new Set(["instructions", "tools"]);

/** The object for a client. `upstream`: that of the model's server. */
export function responseObject(
  upstream: Readonly<Record<string, unknown>>,
  fields: ResponseFields,
): Record<string, unknown> {
  const { id, created, model, isStored, isBackground, previous, conversation, asked } = fields;
  const made: Record<string, unknown> = { ...DEFAULTS, ...present(upstream) };
  for (const name of REPEATED) {
    if (asked[name] !== undefined && asked[name] !== null) made[name] = asked[name];
    else if (OUR_OWN.has(name)) made[name] = DEFAULTS[name];
  }
  made["tools"] = recordsOf(made["tools"]).map(wholeTool);
  made["usage"] = wholeUsage(made["usage"]);
  if (made["status"] === "completed") made["completed_at"] ??= Math.floor(Date.now() / 1000);
  return {
    ...made,
    id,
    object: "response",
    created_at: created,
    model,
    store: isStored,
    background: isBackground,
    previous_response_id: previous ?? null,
    conversation: conversation === undefined ? null : { id: conversation },
  };
}

/** The fields that are not undefined or null. */
function present(object: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(object).filter(([, value]) => value !== undefined && value !== null),
  );
}

function wholeTool(tool: Fields): Fields {
  if (tool["type"] !== "function") return tool;
  return { description: null, parameters: null, strict: null, ...tool };
}

function wholeUsage(usage: unknown): unknown {
  if (!isRecord(usage)) return null;
  return {
    ...usage,
    input_tokens_details: { cached_tokens: 0, ...recordOf(usage["input_tokens_details"]) },
    output_tokens_details: { reasoning_tokens: 0, ...recordOf(usage["output_tokens_details"]) },
  };
}
