/**
 * The content of a request that a model of another protocol cannot get: files that it has no form for, images by address, items of
 * tools that a provider runs itself. It is refused by name, never left out.
 */
import type { WireApi } from "@pagurus/contract/harness/wire";
import type { ModelInfo } from "@pagurus/contract/model";
import {
  isRecord,
  listOf,
  recordOf,
  recordsOf,
  stringOf,
  type Fields,
} from "@pagurus/core/data/record-fields";
import { unsealed } from "@pagurus/gateway/dialect/sealed-summary";
import { askedShape, offeredNames } from "@pagurus/gateway/upstream/translate/answer-shapes";
import { unsupportedShape } from "@pagurus/core/model/answer-shape";
import { fileFields, readFile } from "@pagurus/core/protocols/files";
import { dataUrlImage } from "@pagurus/core/protocols/protocol-parts";

/** Whether the model's protocol has a form for a file of the request. */
type Takes = (part: Fields) => boolean;
/** The first thing in a value that cannot be sent, with its place: `"input[0].content[1]" (input_file)`. */
type Finder = (value: unknown, place: string, takes: Takes) => string | undefined;

/** Results of calls and agents take no files. */
const never: Takes = () => false;

function named(place: string, type: unknown, why = ""): string {
  return `"${place}" (${stringOf(type) || "of no known type"}${why})`;
}

/** Looks at each element of a list; a text or nothing is always sent. */
function each(value: unknown, place: string, takes: Takes, find: Finder): string | undefined {
  for (const [at, element] of listOf(value).entries()) {
    const found = find(element, `${place}[${at}]`, takes);
    if (found !== undefined) return found;
  }
  return undefined;
}

function imageByAddress(url: unknown, type: unknown, place: string): string | undefined {
  if (dataUrlImage(stringOf(url))) return undefined;
  return named(place, type, "; only a data: URL can be sent on");
}

function chatPart(value: unknown, place: string, takes: Takes): string | undefined {
  const { type, image_url: image } = recordOf(value);
  if (type === "text" || type === "refusal") return undefined;
  if (type === "image_url") return imageByAddress(isRecord(image) ? image["url"] : image, type, place);
  return takes(recordOf(value)) ? undefined : named(place, type);
}

function chatMessage(value: unknown, place: string, takes: Takes): string | undefined {
  const { content, audio, function_call: call, role } = recordOf(value);
  if (audio !== undefined && audio !== null) return named(`${place}.audio`, "audio");
  if ((call !== undefined && call !== null) || role === "function") return named(place, "function_call");
  return each(content, `${place}.content`, role === "user" ? takes : never, chatPart);
}

/** Blocks that a translation keeps, or that only the model that wrote them can read, as thinking. */
const BLOCKS = new Set(["text", "thinking", "redacted_thinking", "tool_use", "compaction"]);

function untranslatableBlock(value: unknown, place: string, takes: Takes): string | undefined {
  const { type, source, content } = recordOf(value);
  if (BLOCKS.has(stringOf(type))) return undefined;
  if (type === "tool_result") return each(content, `${place}.content`, never, untranslatableBlock);
  const from = recordOf(source)["type"];
  if (type === "image")
    return from === "base64" ? undefined : named(place, type, "; only base64 data can be sent on");
  const isSent = (type === "document" && from === "text") || takes(recordOf(value));
  return isSent ? undefined : named(place, type);
}

const ITEMS = new Set([
  "message",
  // Only the model that wrote it can read it.
  "reasoning",
  "function_call",
  "function_call_output",
  "custom_tool_call",
  "custom_tool_call_output",
  "local_shell_call",
  "local_shell_call_output",
  "tool_search_call",
  "tool_search_output",
  "additional_tools",
  "compaction_trigger",
]);
/** Elements that a compaction left; those of a provider are sealed by it. */
const COMPACTION_ITEMS = new Set(["compaction", "compaction_summary", "context_compaction"]);
const TEXTS = new Set(["input_text", "output_text", "text", "refusal", "summary_text", "reasoning_text"]);

function itemPart(value: unknown, place: string, takes: Takes): string | undefined {
  const { type, image_url: url } = recordOf(value);
  if (TEXTS.has(stringOf(type))) return undefined;
  if (type === "input_image") return imageByAddress(url, type, place);
  return takes(recordOf(value)) ? undefined : named(place, type);
}

function itemProblem(value: unknown, place: string, takes: Takes): string | undefined {
  const { type = "message", content, output, encrypted_content: mark } = recordOf(value);
  if (COMPACTION_ITEMS.has(stringOf(type))) return unsealed(mark) ? undefined : named(place, type);
  if (!ITEMS.has(stringOf(type))) return named(place, type);
  if (type === "reasoning") return undefined;
  return (
    each(content, `${place}.content`, type === "message" ? takes : never, itemPart) ??
    each(output, `${place}.output`, never, itemPart)
  );
}

const CONTENTS: Partial<Record<WireApi, { list: string; find: Finder }>> = {
  "openai-completions": { list: "messages", find: chatMessage },
  "anthropic-messages": {
    list: "messages",
    find: (value, place, takes) =>
      each(recordOf(value)["content"], `${place}.content`, takes, untranslatableBlock),
  },
  "openai-responses": { list: "input", find: itemProblem },
};

/** The first element of the conversation that cannot be sent to a model of another protocol, or to an agent. */
export function untranslatablePart(api: WireApi, asked: Fields, takes = never): string | undefined {
  const content = CONTENTS[api];
  return content && each(asked[content.list], content.list, takes, content.find);
}

/** Types of tools that a translation keeps. */
const TRANSLATED_TOOLS: Partial<Record<WireApi, ReadonlySet<unknown>>> = {
  "openai-completions": new Set(["function"]),
  "anthropic-messages": new Set([undefined, null, "custom"]),
  "openai-responses": new Set(["function", "custom", "namespace", "local_shell", "tool_search"]),
};

/** Tools that a provider runs itself, which a model of another one is not offered. */
export function providerTools(api: WireApi, asked: Fields): string[] {
  const kept = TRANSLATED_TOOLS[api];
  const types = recordsOf(asked["tools"]).map(({ type }) => type);
  return [...new Set(types.filter((type) => !kept?.has(type)).map((type) => `tools.${String(type)}`))];
}

/** One sentence on a part or a field of a request that a model of another protocol cannot get; undefined: it gets all. */
export function untranslatable(api: WireApi, asked: Fields, info: ModelInfo): string | undefined {
  const takes = (part: Fields): boolean => {
    const file = readFile(part);
    return file !== undefined && fileFields(info.api, file) !== undefined;
  };
  const part = untranslatablePart(api, asked, takes);
  if (part !== undefined)
    return `The part ${part} cannot be sent to "${info.ref}", whose protocol (${info.api}) differs; send it in another form, or choose a model of the same protocol.`;
  const { choice, ...shape } = askedShape(api, (name) => asked[name]);
  if (
    choice?.hosted !== undefined ||
    (choice?.name !== undefined && !offeredNames(asked["tools"]).includes(choice.name))
  )
    return `The field "tool_choice" names "${choice.name ?? choice.hosted ?? ""}", which is no tool of the request that "${info.ref}" can call; offer it as a function.`;
  const missing = unsupportedShape(info.api, shape);
  if (missing === undefined) return undefined;
  return `The protocol of "${info.ref}" (${info.api}) has no field for ${missing}; remove that from the request, or choose another model.`;
}
