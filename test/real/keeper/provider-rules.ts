/** Rules of two providers, by which their endpoints refuse a request; each sentence is how theirs begins. */
import { isRecord, listOf, recordOf, type Fields } from "../../../packages/core/src/data/record-fields.ts";

const ID = /^[a-zA-Z0-9_-]+$/;
const NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const MOST_IMAGE = 5 * 1024 * 1024;
const MOST_SIDE = 8_000;
const MOST_IMAGES = 100;
const MOST_TEXT = 800_000;
const MOST_ITEMS = 16_384;
const MOST_OPENAI_TEXT = 10_485_760;

function blocksOf(message: Fields): Fields[] {
  return listOf(message["content"]).filter(isRecord);
}

function isHalf(value: unknown): boolean {
  return !JSON.stringify(value).isWellFormed() || /\\ud[89a-f]/i.test(JSON.stringify(value));
}

/** Why the Messages API refuses a request; undefined for one that it takes. */
export function anthropicFlaw(body: Fields): string | undefined {
  const messages = listOf(body["messages"]).filter(isRecord);
  if (isHalf(messages)) return "The request body is not valid JSON: no low surrogate in string";
  const all = messages.flatMap(blocksOf);
  const images = all.flatMap((block) => [block, ...blocksOf(block)]).filter(({ type }) => type === "image");
  if (images.length > MOST_IMAGES) return "Too many images and documents";
  const marks = [...listOf(body["system"]), ...all].filter((each) => "cache_control" in recordOf(each));
  if (marks.length > 4)
    return `A maximum of 4 blocks with cache_control may be provided. Found ${marks.length}`;
  if (
    JSON.stringify(messages.map(blocksOf).map((list) => list.filter(({ type }) => type !== "image"))).length >
    MOST_TEXT
  )
    return "prompt is too long: 210000 tokens > 200000 maximum";
  const ids = all.filter(({ type }) => type === "tool_use").map(({ id }) => id);
  if (new Set(ids).size < ids.length) return "messages: `tool_use` ids must be unique";
  return messages
    .map((message, at) => messageFlaw(message, messages[at - 1]))
    .find((flaw) => flaw !== undefined);
}

function messageFlaw(message: Fields, before: Fields | undefined): string | undefined {
  const { role, content } = message as { role?: unknown; content?: unknown };
  if (role !== "user" && role !== "assistant") return `Unexpected role "${String(role)}"`;
  if (content === "" || (Array.isArray(content) && content.length === 0))
    return "messages: all messages must have non-empty content";
  if (typeof content !== "string" && !Array.isArray(content)) return "content: Input should be a valid list";
  const blocks = blocksOf(message);
  const results = blocks.filter(({ type }) => type === "tool_result").map(({ tool_use_id: id }) => id);
  const calls = before
    ? blocksOf(before)
        .filter(({ type }) => type === "tool_use")
        .map(({ id }) => id)
    : [];
  if (results.some((id) => !calls.includes(id)))
    return "unexpected `tool_use_id` found in `tool_result` blocks";
  if (calls.some((id) => !results.includes(id)))
    return "`tool_use` ids were found without `tool_result` blocks immediately after";
  if (new Set(results).size < results.length) return "each tool_use must have a single result";
  if (role === "assistant" && String(blocks.at(-1)?.["type"]).endsWith("thinking"))
    return "The final block in an assistant message cannot be `thinking`";
  return blocks.map((block) => blockFlaw(block, String(role))).find((flaw) => flaw !== undefined);
}

const USER = new Set(["text", "image", "document", "tool_result"]);
const ASSISTANT = new Set(["text", "thinking", "redacted_thinking", "tool_use"]);

function blockFlaw(block: Fields, role: string): string | undefined {
  const { type, text, id, name, input, signature, is_error: isError } = block as Record<string, unknown>;
  if (!(role === "user" ? USER : ASSISTANT).has(String(type)))
    return `Input tag '${String(type)}' found using 'type' does not match any of the expected tags`;
  if (type === "text" && String(text).trim() === "") return "text content blocks must be non-empty";
  if (type === "thinking" && (typeof signature !== "string" || signature === ""))
    return "Invalid `signature` in `thinking` block";
  if (type === "redacted_thinking" && !block["data"]) return "Invalid `data` in `redacted_thinking` block";
  if (type === "tool_use") {
    if (!ID.test(String(id))) return "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'";
    if (!NAME.test(String(name))) return "tool_use.name: String should match pattern";
    if (!isRecord(input)) return "tool_use.input: Input should be a valid dictionary";
  }
  if (type === "tool_result") {
    const inner = blocksOf(block);
    if (isError === true && inner.some((each) => each["type"] !== "text"))
      return "all content must be type `text` if `is_error` is true";
    return inner.map((each) => blockFlaw(each, "user")).find((flaw) => flaw !== undefined);
  }
  return type === "image" || type === "document" ? dataFlaw(block) : undefined;
}

const BEGINNINGS: readonly (readonly [string, string])[] = [
  ["image/png", "iVBORw0KGgo"],
  ["image/jpeg", "/9j/"],
  ["image/gif", "R0lGOD"],
  ["image/webp", "UklGR"],
  ["application/pdf", "JVBERi"],
];

function dataFlaw({ source }: Fields): string | undefined {
  const { type, data, media_type: media } = recordOf(source) as Record<string, unknown>;
  if (type !== "base64") return undefined;
  const text = String(data);
  if (text.length * 0.75 > MOST_IMAGE) return "image exceeds 5 MB maximum";
  const [found] = BEGINNINGS.find(([, start]) => text.startsWith(start)) ?? [];
  if (found === undefined) return "Could not process image";
  if (found !== media)
    return `The image was specified using the ${String(media)} media type, but the image appears to be a ${found} image`;
  const bytes = Buffer.from(text.slice(0, 64), "base64");
  const side =
    found === "image/png" && bytes.length >= 24
      ? Math.max(bytes.readUInt32BE(16), bytes.readUInt32BE(20))
      : 0;
  return side > MOST_SIDE ? "image dimensions exceed max allowed size: 8000 pixels" : undefined;
}

/** Why the Responses API refuses a request; undefined for one that it takes. */
export function responsesFlaw(body: Fields): string | undefined {
  const items = listOf(body["input"]).filter(isRecord);
  if (isHalf(items)) return "Invalid body: failed to parse JSON value";
  if (items.length > MOST_ITEMS)
    return "Invalid 'input': array too long. Expected an array with maximum length 16384";
  const ids = (test: (type: string) => boolean): string[] =>
    items.filter(({ type }) => test(String(type))).map(({ call_id: id }) => String(id));
  const calls = ids((type) => /^(?:function|custom_tool)_call$/.test(type));
  const outputs = ids((type) => type.endsWith("_call_output"));
  const lost = calls.find((id) => !outputs.includes(id));
  if (lost !== undefined) return `No tool output found for function call ${lost}.`;
  const orphan = outputs.find((id) => !calls.includes(id));
  if (orphan !== undefined) return `No tool call found for function call output with call_id ${orphan}.`;
  if (new Set(calls).size < calls.length || new Set(outputs).size < outputs.length)
    return "Duplicate item found with call_id";
  return items.map(itemFlaw).find((flaw) => flaw !== undefined);
}

function itemFlaw(item: Fields): string | undefined {
  const {
    type,
    name,
    role,
    output,
    arguments: args,
    encrypted_content: sealed,
  } = item as Record<string, unknown>;
  if (type === "function_call" && !NAME.test(String(name)))
    return "Invalid 'input[0].name': string does not match pattern";
  if (type === "function_call" && typeof args !== "string")
    return "Invalid type for 'input[0].arguments': expected a string";
  if (type === "reasoning" && sealed === "stale") return "The encrypted content could not be verified.";
  const texts = [output, ...blocksOf(item).map(({ text }) => text)].filter(
    (each) => typeof each === "string",
  );
  if (texts.some((text) => text.length > MOST_OPENAI_TEXT))
    return "Invalid 'input[0].content[0].text': string too long";
  for (const part of blocksOf(item)) {
    const wanted = role === "assistant" ? "output_text" : "input_text";
    if (part["type"] === "input_image") {
      const image = String(part["image_url"]);
      if (image.length > 20 * 1024 * 1024) return "Invalid 'input[0].content[0].image_url': image too large";
      if (!/^(?:https?:|data:image\/(?:png|jpeg|gif|webp);base64,\w)/.test(image))
        return "Invalid 'input[0].content[0].image_url'. Expected a base64-encoded data URL with an image MIME type";
    } else if (part["type"] !== wanted)
      return `Invalid value: '${String(part["type"])}'. Supported values are: '${wanted}'`;
  }
  return undefined;
}
