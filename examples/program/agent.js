/**
 * The external program of the example: a loop that calls a model over the Chat Completions API. It reads `begin` and
 * `go-on` as lines of JSON, and writes `text`, `answer` and `failed`. It does not know the host.
 */
import { createInterface } from "node:readline";
import { Readable } from "node:stream";

const write = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const wordsOf = (content) =>
  typeof content === "string"
    ? content
    : content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("");

/** A message as the API has it. */
function wire(message) {
  const { role, content } = message;
  if (role === "toolResult")
    return { role: "tool", tool_call_id: message.toolCallId, content: wordsOf(content) };
  if (role === "user") return { role, content: inputOf(content) };
  const calls = content.filter(({ type }) => type === "toolCall");
  return {
    role,
    content: wordsOf(content.filter(({ type }) => type === "text")),
    ...(calls.length > 0 && { tool_calls: calls.map(wireCall) }),
  };
}

/** Content without images is a text; with images it is parts. */
function inputOf(content) {
  if (typeof content === "string" || content.every(({ type }) => type === "text")) return wordsOf(content);
  return content.map((part) =>
    part.type === "image"
      ? { type: "image_url", image_url: { url: `data:${part.mimeType};base64,${part.data}` } }
      : { type: "text", text: part.text },
  );
}

function wireCall({ id, name, arguments: given }) {
  return { id, type: "function", function: { name, arguments: JSON.stringify(given) } };
}

function argumentsOf(text) {
  try {
    return JSON.parse(text || "{}");
  } catch {
    return {};
  }
}

/** The data of server-sent events. */
async function* eventsOf(body) {
  for await (const line of createInterface({ input: Readable.fromWeb(body) }))
    if (line.startsWith("data: ") && line !== "data: [DONE]") yield JSON.parse(line.slice(6));
}

async function callModel({ endpoint, system, tools }, messages) {
  const functions = tools.map((tool) => ({ type: "function", function: tool }));
  const response = await fetch(`${endpoint.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${endpoint.apiKey}` },
    body: JSON.stringify({
      model: endpoint.model,
      stream: true,
      stream_options: { include_usage: true },
      messages: [{ role: "system", content: system }, ...messages],
      ...(functions.length > 0 && { tools: functions }),
    }),
  });
  if (!response.ok) {
    const { error } = await response.json().catch(() => ({}));
    const message = error?.message ?? `The model answered with status ${response.status}.`;
    return write({ type: "failed", message, overflow: error?.code === "context_length_exceeded" });
  }
  let [text, usage, isCut] = ["", undefined, false];
  const calls = [];
  for await (const { choices, usage: counted } of eventsOf(response.body)) {
    usage = counted ?? usage;
    const [{ delta, finish_reason: finish } = {}] = choices;
    isCut ||= finish === "length";
    if (delta?.content) {
      text += delta.content;
      write({ type: "text", delta: delta.content });
    }
    for (const { index, id, function: called } of delta?.tool_calls ?? []) {
      const call = (calls[index] ??= { id, name: called.name, text: "" });
      call.text += called.arguments ?? "";
    }
  }
  const made = calls.map(({ id, name, text: given }) => ({ id, name, arguments: argumentsOf(given) }));
  messages.push(
    wire({
      role: "assistant",
      content: [{ type: "text", text }, ...made.map((call) => ({ type: "toolCall", ...call }))],
    }),
  );
  return write({ type: "answer", text, calls: made, isCut, ...(usage && { usage: usageOf(usage) }) });
}

function usageOf({ prompt_tokens: all, completion_tokens: output, prompt_tokens_details: details }) {
  const cacheRead = details?.cached_tokens ?? 0;
  return { input: all - cacheRead, output, cacheRead, totalTokens: all + output };
}

let begun;
const said = [];
for await (const line of createInterface({ input: process.stdin })) {
  const told = JSON.parse(line);
  if (told.type === "begin") begun = told;
  said.push(...told.messages.map(wire));
  await callModel(begun, said);
}
