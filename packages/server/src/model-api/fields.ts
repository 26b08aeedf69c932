/** What each endpoint does with each field of its requests. The docs page has the same table, checked by a test. */
import { isRecord, listOf } from "@pagurus/core/data/record-fields";

export type Handling =
  /** Used here or put into the fields of the model's protocol; an error that says so if that protocol cannot express the value. */
  | "honoured"
  /** Sent to a provider of the same protocol as it is; any other model cannot do it, and the request is refused. */
  | "passed"
  /** Sent to a provider of the same protocol; ignored for any other model, and named in the reply's header. So is any other field. */
  | "hint"
  /** Accepted without effect. */
  | "ignored"
  /** An error that names it. */
  | "refused";

export type Endpoint =
  | "/chat/completions"
  | "/messages"
  | "/messages/count_tokens"
  | "/responses"
  | "/responses/compact"
  | "/responses/input_tokens";

function table(rows: Partial<Record<Handling, string>>): ReadonlyMap<string, Handling> {
  const fields = new Map<string, Handling>();
  for (const [handling, names] of Object.entries(rows))
    for (const name of names.split(" ")) fields.set(name, handling as Handling);
  return fields;
}

const MESSAGES = {
  honoured:
    "model messages system stream tools max_tokens thinking output_config output_format tool_choice stop_sequences compaction",
  passed: "mcp_servers container",
  hint: "temperature top_p top_k service_tier cache_control metadata betas context_management speed",
  ignored: "thread",
};

const RESPONSES = {
  honoured:
    "model input instructions stream tools max_output_tokens reasoning tool_choice text parallel_tool_calls",
  passed: "top_logprobs prompt",
  hint: "temperature top_p include service_tier metadata user safety_identifier stream_options client_metadata max_tool_calls",
  ignored: "prompt_cache_key prompt_cache_retention prompt_cache_options truncation context_management",
};

export const FIELDS: Readonly<Record<Endpoint, ReadonlyMap<string, Handling>>> = {
  "/chat/completions": table({
    honoured:
      "model messages stream tools max_tokens max_completion_tokens reasoning_effort tool_choice response_format stop verbosity parallel_tool_calls stream_options",
    passed: "logprobs top_logprobs logit_bias prediction web_search_options modalities audio",
    hint: "temperature top_p presence_penalty frequency_penalty seed service_tier metadata user safety_identifier",
    ignored: "store prompt_cache_key prompt_cache_retention prompt_cache_options",
    refused: "n functions function_call",
  }),
  "/messages": table(MESSAGES),
  "/messages/count_tokens": table(MESSAGES),
  "/responses": table({
    ...RESPONSES,
    honoured: `${RESPONSES.honoured} previous_response_id conversation background store`,
  }),
  "/responses/compact": table({
    ...RESPONSES,
    honoured: `${RESPONSES.honoured} previous_response_id`,
    ignored: `${RESPONSES.ignored} store`,
    refused: "conversation background",
  }),
  "/responses/input_tokens": table({
    ...RESPONSES,
    honoured: `${RESPONSES.honoured} previous_response_id conversation`,
    ignored: `${RESPONSES.ignored} store`,
    refused: "background",
  }),
};

function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return isRecord(value) && Object.keys(value).length === 0;
}

function isType(...types: readonly unknown[]): (value: unknown) => boolean {
  return (value) => types.includes(isRecord(value) ? value["type"] : value);
}

function isOneOf(...values: readonly unknown[]): (value: unknown) => boolean {
  return (value) => values.includes(value);
}

/** A field of Responses with a format and a verbosity, both at their defaults. */
function isPlainText(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { format, verbosity, ...more } = value;
  const isPlain = format === undefined || format === null || isType("text")(format);
  return isPlain && isOneOf(undefined, null, "medium")(verbosity) && isEmpty(more);
}

/** Values of fields that ask for nothing: the documented default of each, in all protocols. */
const DEFAULTS: Readonly<Record<string, (value: unknown) => boolean>> = {
  n: isOneOf(1),
  tool_choice: isType("auto"),
  response_format: isType("text"),
  text: isPlainText,
  verbosity: isOneOf("medium"),
  parallel_tool_calls: isOneOf(true),
  stop: isOneOf(""),
  logit_bias: isEmpty,
  top_logprobs: isOneOf(0),
  modalities: (value) => listOf(value).every((each) => each === "text"),
  presence_penalty: isOneOf(0),
  frequency_penalty: isOneOf(0),
  temperature: isOneOf(1),
  top_p: isOneOf(1),
  service_tier: isOneOf("auto", "default", "standard_only"),
  truncation: isOneOf("disabled"),
  function_call: isOneOf("none", "auto"),
  metadata: isEmpty,
  stream_options: isEmpty,
  thinking: isType("disabled"),
  thread: isType("create"),
  context_management: (value) => isEmpty(isRecord(value) ? value["edits"] : value),
  output_config: isEmpty,
  reasoning: isEmpty,
};

/** Whether a value asks for nothing, so that the field is as if absent. */
export function asksNothing(name: string, value: unknown): boolean {
  if (value === null || value === undefined || value === false) return true;
  if (Array.isArray(value) && value.length === 0) return true;
  return Object.hasOwn(DEFAULTS, name) && DEFAULTS[name]?.(value) === true;
}

export interface Checked {
  /** The body without ignored fields and those that ask for nothing here. */
  body: Record<string, unknown>;
  /** Fields of the client that no one reads. */
  unread: string[];
  /** One sentence on a field that cannot be honoured. */
  problem?: string;
}

/** The reasons of refusals that are not the server's alone. */
const REASONS: Readonly<Record<string, string>> = {
  n: "a session continues with one answer; send one request for each",
  functions: 'it was replaced by "tools"',
  function_call: 'it was replaced by "tool_choice"',
};

/** `translates`: the model has another protocol than the endpoint. */
export function checkFields(endpoint: Endpoint, body: Record<string, unknown>, translates: boolean): Checked {
  const kept: Record<string, unknown> = {};
  const unread: string[] = [];
  for (const [name, value] of Object.entries(body)) {
    const handling = FIELDS[endpoint].get(name) ?? "hint";
    if (handling === "ignored") continue;
    const isNothing = asksNothing(name, value);
    if (!isNothing && (handling === "refused" || (handling === "passed" && translates)))
      return { body, unread, problem: problemOf(endpoint, name, handling) };
    if (handling === "refused" || (translates && isNothing && handling !== "honoured")) continue;
    if (translates && handling === "hint") unread.push(name);
    else kept[name] = value;
  }
  return { body: kept, unread };
}

function problemOf(endpoint: Endpoint, name: string, handling: Handling): string {
  if (handling === "passed")
    return `The field "${name}" cannot be sent to this model, whose protocol differs from /v1${endpoint}; remove it, or choose a model of the same protocol.`;
  const reason = REASONS[name];
  return `/v1${endpoint} does not support the field "${name}"${reason === undefined ? "; remove it from the request" : `: ${reason}`}.`;
}
