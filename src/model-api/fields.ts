/** What each endpoint does with each field of its requests. The docs page has the same table, checked by a test. */
export type Handling =
  /** Decides something here, and is sent on. */
  | "honoured"
  /** Sent to the provider as it is; a model of another protocol does not get it, and the request is refused. */
  | "passed"
  /** Sent to a provider of the same protocol; a model of another protocol does not get it. */
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
  | "/responses/compact";

function table(rows: Partial<Record<Handling, string>>): ReadonlyMap<string, Handling> {
  const fields = new Map<string, Handling>();
  for (const [handling, names] of Object.entries(rows))
    for (const name of names.split(" ")) fields.set(name, handling as Handling);
  return fields;
}

const MESSAGES = {
  honoured: "model messages system stream tools max_tokens thinking output_config",
  passed: "tool_choice stop_sequences mcp_servers context_management",
  hint: "temperature top_p top_k service_tier cache_control metadata betas",
  refused: "container",
};

const RESPONSES = {
  honoured: "model input instructions stream tools max_output_tokens reasoning",
  passed: "tool_choice text top_logprobs",
  hint: "temperature top_p parallel_tool_calls include service_tier metadata user safety_identifier stream_options client_metadata",
  ignored: "prompt_cache_key prompt_cache_retention truncation",
  refused: "prompt max_tool_calls context_management",
};

export const FIELDS: Readonly<Record<Endpoint, ReadonlyMap<string, Handling>>> = {
  "/chat/completions": table({
    honoured: "model messages stream tools max_tokens max_completion_tokens reasoning_effort",
    passed:
      "tool_choice response_format stop logprobs top_logprobs logit_bias prediction web_search_options verbosity modalities",
    hint: "temperature top_p presence_penalty frequency_penalty seed parallel_tool_calls stream_options service_tier metadata user safety_identifier",
    ignored: "store prompt_cache_key prompt_cache_retention",
    refused: "n functions function_call audio",
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
    refused: `${RESPONSES.refused} conversation background`,
  }),
};

/** Values that ask for nothing: a refused or passed field with one of them is as if absent. */
function asksNothing(name: string, value: unknown): boolean {
  if (value === null || value === undefined || value === false) return true;
  if (name === "n") return value === 1;
  if (name === "tool_choice") return value === "auto" || (value as { type?: unknown }).type === "auto";
  if (name === "response_format") return (value as { type?: unknown }).type === "text";
  return false;
}

export interface Checked {
  /** The body without ignored fields and those that ask for nothing here. */
  body: Record<string, unknown>;
  /** One sentence on a field that cannot be honoured. */
  problem?: string;
}

/** `translates`: the model has another protocol than the endpoint. */
export function checkFields(endpoint: Endpoint, body: Record<string, unknown>, translates: boolean): Checked {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(body)) {
    const handling = FIELDS[endpoint].get(name);
    if (handling === "ignored") continue;
    const isEmpty = asksNothing(name, value);
    if (handling === undefined && !isEmpty)
      return {
        body,
        problem: `/v1${endpoint} does not know the field "${name}"; remove it from the request.`,
      };
    if (handling === "refused" && !isEmpty)
      return {
        body,
        problem: `/v1${endpoint} does not support the field "${name}"; remove it from the request.`,
      };
    if (handling === "passed" && translates && !isEmpty)
      return {
        body,
        problem: `The field "${name}" cannot be sent to this model, whose protocol differs from /v1${endpoint}; remove it, or choose a model of the same protocol.`,
      };
    if (handling === "refused" || handling === undefined) continue;
    kept[name] = value;
  }
  return { body: kept };
}
