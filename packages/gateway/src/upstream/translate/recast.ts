/**
 * Calls of two tools for which OpenAI's own models have forms of their own. The dialect writes them as function calls, which a
 * harness that offered such a tool does not accept.
 */
import type { AssistantMessage } from "@pagurus/contract/message";
import { type Fields, recordOf, recordsOf, stringOf } from "@pagurus/core/data/record-fields";
import { argumentsOf } from "@pagurus/core/protocols/protocol-parts";
import type { OfferedTool } from "./translate-tools.ts";

const OWN_FORMS = new Set(["local_shell", "tool_search"]);

function recastItem(item: Fields, forms: ReadonlyMap<string, string>): Fields {
  const form = item["type"] === "function_call" ? forms.get(stringOf(item["name"])) : undefined;
  if (form === undefined) return item;
  const { name: _name, arguments: args, ...rest } = item;
  const asked = argumentsOf(args);
  if (form === "tool_search")
    return { ...rest, type: "tool_search_call", execution: "client", arguments: asked };
  return { ...rest, type: "local_shell_call", action: { type: "exec", env: {}, ...asked } };
}

function recastBody(text: string, forms: ReadonlyMap<string, string>): string {
  const body = { ...recordOf(JSON.parse(text)) };
  const output = (of: Fields): { output?: Fields[] } =>
    Array.isArray(of["output"])
      ? { output: recordsOf(of["output"]).map((each) => recastItem(each, forms)) }
      : {};
  if (body["item"] !== undefined) body["item"] = recastItem(recordOf(body["item"]), forms);
  const response = recordOf(body["response"]);
  if (body["response"] !== undefined) body["response"] = { ...response, ...output(response) };
  return JSON.stringify({ ...body, ...output(body) });
}

/** `written`: the output of the dialect's writer for the end of the answer, whole events or one JSON body. */
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
