/** The published schema of Open Responses, as far as the compliance cases use it: the response object, and the events of a stream. */
import { z } from "zod";

type Fields = Record<string, unknown>;

const nullable = z.union([z.string(), z.null()]);
const count = z.union([z.int(), z.null()]);
const itemStatus = z.enum(["in_progress", "completed", "incomplete"]);
const outputText = z.looseObject({
  type: z.literal("output_text"),
  text: z.string(),
  annotations: z.array(z.unknown()),
  logprobs: z.array(z.unknown()),
});
const message = z.looseObject({
  type: z.literal("message"),
  id: z.string(),
  status: itemStatus,
  role: z.enum(["user", "assistant", "system", "developer"]),
  content: z.array(z.union([outputText, z.looseObject({ type: z.literal("refusal"), refusal: z.string() })])),
});
const functionCall = z.looseObject({
  type: z.literal("function_call"),
  id: z.string(),
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
  status: itemStatus,
});
const summaryText = z.looseObject({ type: z.literal("summary_text"), text: z.string() });
const reasoningItem = z.looseObject({
  type: z.literal("reasoning"),
  id: z.string(),
  summary: z.array(summaryText),
});
const item = z.discriminatedUnion("type", [message, functionCall, reasoningItem]);
const tool = z.looseObject({
  type: z.literal("function"),
  name: z.string(),
  description: nullable,
  parameters: z.union([z.looseObject({}), z.null()]),
  strict: z.union([z.boolean(), z.null()]),
});
const usage = z.looseObject({
  input_tokens: z.int(),
  output_tokens: z.int(),
  total_tokens: z.int(),
  input_tokens_details: z.looseObject({ cached_tokens: z.int() }),
  output_tokens_details: z.looseObject({ reasoning_tokens: z.int() }),
});
const choice = z.union([
  z.enum(["none", "auto", "required"]),
  z.looseObject({ type: z.literal("function"), name: z.string() }),
  z.looseObject({ type: z.literal("allowed_tools"), tools: z.array(z.unknown()), mode: z.string() }),
]);

const resource = z.looseObject({
  id: z.string(),
  object: z.literal("response"),
  created_at: z.int(),
  completed_at: count,
  status: z.enum(["queued", "in_progress", "completed", "failed", "incomplete", "cancelled"]),
  incomplete_details: z.union([z.looseObject({ reason: z.string() }), z.null()]),
  model: z.string(),
  previous_response_id: nullable,
  instructions: nullable,
  output: z.array(item),
  error: z.union([z.looseObject({ code: z.string(), message: z.string() }), z.null()]),
  tools: z.array(tool),
  tool_choice: choice,
  truncation: z.enum(["auto", "disabled"]),
  parallel_tool_calls: z.boolean(),
  text: z.looseObject({ format: z.looseObject({ type: z.string() }) }),
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: z.int(),
  temperature: z.number(),
  reasoning: z.union([z.looseObject({ effort: nullable, summary: nullable }), z.null()]),
  user: nullable,
  usage: z.union([usage, z.null()]),
  max_output_tokens: count,
  max_tool_calls: count,
  store: z.boolean(),
  background: z.boolean(),
  service_tier: z.string(),
  metadata: z.record(z.string(), z.string()),
  safety_identifier: nullable,
  prompt_cache_key: nullable,
});

const place = { item_id: z.string(), output_index: z.int() };
const textPlace = { ...place, content_index: z.int() };
const summaryPlace = { ...place, summary_index: z.int() };
const part = z.looseObject({ type: z.string(), text: z.string() });

/** Events with the response itself. */
const STATES: ReadonlySet<string> = new Set(
  ["created", "queued", "in_progress", "completed", "incomplete", "failed"].map((name) => `response.${name}`),
);

/** Members of each other event besides its type and number. */
const EVENTS: Readonly<Record<string, z.ZodRawShape>> = {
  "response.output_item.added": { output_index: z.int(), item },
  "response.output_item.done": { output_index: z.int(), item },
  "response.content_part.added": { ...textPlace, part },
  "response.content_part.done": { ...textPlace, part },
  "response.output_text.delta": { ...textPlace, delta: z.string(), logprobs: z.array(z.unknown()) },
  "response.output_text.done": { ...textPlace, text: z.string(), logprobs: z.array(z.unknown()) },
  "response.function_call_arguments.delta": { ...place, delta: z.string() },
  "response.function_call_arguments.done": { ...place, arguments: z.string() },
  "response.reasoning_summary_part.added": { ...summaryPlace, part },
  "response.reasoning_summary_part.done": { ...summaryPlace, part },
  "response.reasoning_summary_text.delta": { ...summaryPlace, delta: z.string() },
  "response.reasoning_summary_text.done": { ...summaryPlace, text: z.string() },
};

function problems(schema: z.ZodType, value: unknown): string[] {
  const { error } = schema.safeParse(value);
  return (error?.issues ?? []).map(({ path, message: what }) => `${path.join(".")}: ${what}`);
}

/** Checks of a response and of its events against the published schema. */
export class ResponseChecks {
  readonly #resource = z.looseObject(resource.shape);

  /** What the schema of the response object does not allow, a line for each: the path of the member, and why. */
  response(response: unknown): string[] {
    return problems(this.#resource, response);
  }

  /** The same for the events of a stream, with the name of the event before the path; numbers have to rise by one. */
  events(events: readonly Fields[]): string[] {
    return events.flatMap((event, index) => {
      const type = String(event["type"]);
      const shape = STATES.has(type) ? { response: this.#resource } : EVENTS[type];
      if (!shape) return [`${type}: no event of the specification`];
      const schema = z.looseObject({ type: z.string(), sequence_number: z.literal(index), ...shape });
      return problems(schema, event).map((problem) => `${type} ${problem}`);
    });
  }
}
