/**
 * Calls of two tools that OpenAI's own models call in forms of their own. The dialect writes them as a function's; a harness
 * that offered such a tool takes no function call for it.
 */
import type { AssistantMessage } from "../../../../contract/message.ts";
import { argumentsOf } from "../../../../responses/items.ts";
import { fieldsOf, listOf, textOf, type Fields } from "../../json/fields.ts";
import type { OfferedTool } from "./tools.ts";

const OWN_FORMS = new Set(["local_shell", "tool_search"]);

function recastItem(item: Fields, forms: ReadonlyMap<string, string>): Fields {
  const form = item["type"] === "function_call" ? forms.get(textOf(item["name"])) : undefined;
  if (form === undefined) return item;
  const { name: _name, arguments: given, ...rest } = item;
  const asked = argumentsOf(given);
  if (form === "tool_search")
    return { ...rest, type: "tool_search_call", execution: "client", arguments: asked };
  return { ...rest, type: "local_shell_call", action: { type: "exec", env: {}, ...asked } };
}

function recastBody(text: string, forms: ReadonlyMap<string, string>): string {
  const body = { ...fieldsOf(JSON.parse(text)) };
  const output = (of: Fields): { output?: Fields[] } =>
    Array.isArray(of["output"])
      ? { output: listOf(of["output"]).map((each) => recastItem(each, forms)) }
      : {};
  if (body["item"] !== undefined) body["item"] = recastItem(fieldsOf(body["item"]), forms);
  const response = fieldsOf(body["response"]);
  if (body["response"] !== undefined) body["response"] = { ...response, ...output(response) };
  return JSON.stringify({ ...body, ...output(body) });
}

/** `written`: what the dialect's writer said for the end of the answer, whole events or one JSON body. */
export function recast(written: Buffer, message: AssistantMessage, tools: readonly OfferedTool[]): Buffer {
  const called = new Set(message.content.flatMap((part) => (part.type === "toolCall" ? [part.name] : [])));
  const forms = new Map(
    tools.flatMap(({ form, flat }) => (OWN_FORMS.has(form) && called.has(flat) ? [[flat, form]] : [])),
  );
  if (forms.size === 0) return written;
  const text = written.toString("utf8");
  if (text.startsWith("{")) return Buffer.from(recastBody(text, forms));
  const lines = text
    .split("\n")
    .map((line) =>
      line.startsWith("data: {") ? `data: ${recastBody(line.slice("data: ".length), forms)}` : line,
    );
  return Buffer.from(lines.join("\n"));
}
