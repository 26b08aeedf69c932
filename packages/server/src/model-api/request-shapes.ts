/** The shapes of requests: what this server reads of each, so that nothing after the door meets a value of another kind. */
import type { Endpoint } from "./fields.ts";
import { flag, later, list, number, object, optional, record, text, textOr, type Shape } from "./shape.ts";

const some = {
  text: optional(text),
  flag: optional(flag),
  number: optional(number),
  record: optional(record),
};

const COMMON = {
  model: text,
  stream: some.flag,
  metadata: some.record,
  temperature: some.number,
  top_p: some.number,
};

const part = object({
  type: text,
  text: some.text,
  image_url: optional(textOr(object({ url: some.text }))),
  file: some.record,
  input_audio: some.record,
});

const completionsMessage = object({
  role: text,
  content: optional(textOr(list(part))),
  name: some.text,
  tool_call_id: some.text,
  reasoning_content: some.text,
  tool_calls: optional(
    list(
      object({
        id: some.text,
        type: some.text,
        function: optional(object({ name: some.text, arguments: optional(textOr(record)) })),
      }),
    ),
  ),
});

const functionTool = { name: some.text, description: some.text, parameters: some.record };

const completions = object({
  ...COMMON,
  messages: list(completionsMessage),
  tools: optional(list(object({ type: some.text, function: optional(object(functionTool)) }))),
  tool_choice: optional(textOr(record)),
  stream_options: some.record,
  response_format: some.record,
  reasoning_effort: some.text,
  max_tokens: some.number,
  max_completion_tokens: some.number,
  user: some.text,
});

const blocks: Shape = later(() => textOr(list(block)));
const block: Shape = object({
  type: text,
  text: some.text,
  thinking: some.text,
  signature: some.text,
  data: some.text,
  id: some.text,
  name: some.text,
  tool_use_id: some.text,
  content: (value, place) =>
    // Of a result of the provider's own tools it is an object.
    optional(textOr((inner, at) => (Array.isArray(inner) ? blocks(inner, at) : record(inner, at))))(
      value,
      place,
    ),
  source: optional(
    textOr(object({ type: some.text, media_type: some.text, data: some.text, url: some.text })),
  ),
  cache_control: some.record,
});

const messages = object({
  ...COMMON,
  messages: list(object({ role: text, content: blocks })),
  system: optional(blocks),
  tools: optional(
    list(object({ type: some.text, name: some.text, description: some.text, input_schema: some.record })),
  ),
  tool_choice: some.record,
  thinking: some.record,
  output_config: some.record,
  max_tokens: some.number,
  stop_sequences: optional(list(text)),
  thread: some.record,
});

const responsesPart = object({
  type: some.text,
  text: some.text,
  image_url: optional(textOr(object({ url: some.text }))),
  refusal: some.text,
});

const inputItem = object({
  type: some.text,
  role: some.text,
  id: some.text,
  call_id: some.text,
  name: some.text,
  arguments: optional(textOr(record)),
  encrypted_content: some.text,
  content: optional(textOr(list(responsesPart))),
  output: optional(textOr((value, place) => (Array.isArray(value) ? list(record) : record)(value, place))),
  summary: optional(textOr(list(responsesPart))),
});

const responses = object({
  ...COMMON,
  input: optional(textOr(list(inputItem))),
  instructions: some.text,
  tools: optional(list(object({ ...functionTool, type: some.text }))),
  tool_choice: optional(textOr(record)),
  reasoning: some.record,
  text: some.record,
  store: some.flag,
  background: some.flag,
  previous_response_id: some.text,
  conversation: optional(textOr(object({ id: text }))),
  include: optional(list(text)),
  max_output_tokens: some.number,
  prompt_cache_key: some.text,
});

const SHAPES: Readonly<Record<Endpoint, Shape>> = {
  "/chat/completions": completions,
  "/messages": messages,
  "/messages/count_tokens": messages,
  "/responses": responses,
  "/responses/compact": responses,
  "/responses/input_tokens": responses,
};

/** One sentence on the first member of a request's body that is not of its kind; undefined: there is none. */
export function shapeProblem(endpoint: Endpoint, body: unknown): string | undefined {
  const problem = SHAPES[endpoint](body, "");
  if (problem === undefined) return undefined;
  return `The body does not fit /v1${endpoint}: ${problem.startsWith('""') ? "it has to be an object" : problem}.`;
}
