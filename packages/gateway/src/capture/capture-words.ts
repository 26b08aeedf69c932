/** Short text of a request's element, on one line. */
import { oneLine } from "@pagurus/host/command/layout";
import { asRecord, asString, type Fields } from "@pagurus/core/data/record-fields";

/** The role or type of an element: `user`, `function_call`. */
export function roleOf(value: unknown): string | undefined {
  const fields = asRecord(value);
  return asString(fields?.["role"]) ?? asString(fields?.["type"]);
}

function jsonWords(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** Fields that contain text, in the order in which they are tried. */
const TEXTS = ["text", "output", "content", "parts", "summary", "thinking"] as const;

function ofCalls(calls: unknown): string[] {
  if (!Array.isArray(calls)) return [];
  return calls.map((call) => {
    const called = asRecord(asRecord(call)?.["function"]) ?? {};
    return `${jsonWords(called["name"] ?? "")}(${jsonWords(called["arguments"] ?? "")})`;
  });
}

/** A name with arguments: a call of either protocol. A tool's own description has no arguments. */
function ofCall(fields: Fields): string | undefined {
  const args = fields["arguments"] ?? (fields["type"] === "tool_use" ? fields["input"] : undefined);
  const name = asString(fields["name"]);
  return name === undefined || args === undefined ? undefined : `${name}(${jsonWords(args)})`;
}

/** A call, a result or a file of Google's API, each of which is a member of its part. */
function ofGooglePart(fields: Fields): string | undefined {
  const call = asRecord(fields["functionCall"]);
  if (call) return `${jsonWords(call["name"])}(${jsonWords(call["args"] ?? {})})`;
  const result = asRecord(fields["functionResponse"]);
  if (result) return jsonWords(asRecord(result["response"])?.["output"] ?? result["response"] ?? "");
  const data = asRecord(fields["inlineData"]);
  return data && `[${jsonWords(data["mimeType"] ?? "data")}]`;
}

function ofFields(fields: Fields): string {
  const call = ofCall(fields) ?? ofGooglePart(fields);
  if (call !== undefined) return call;
  const type = asString(fields["type"]) ?? "";
  if (/image/.test(type)) return "[image]";
  const calls = ofCalls(fields["tool_calls"]);
  const found = TEXTS.map((name) => fields[name]).find(
    (inner) => inner !== undefined && inner !== null && inner !== "",
  );
  const words = found === undefined ? "" : plain(found);
  const own = [words, ...calls].filter((part) => part !== "").join(" ");
  if (own !== "") return own;
  // Encrypted reasoning and the like have no text; only the type is shown.
  return type === "" ? jsonWords(fields) : `[${type}]`;
}

function plain(value: unknown): string {
  if (Array.isArray(value)) return value.map(plain).join(" ");
  const fields = asRecord(value);
  return fields ? ofFields(fields) : jsonWords(value);
}

function namesOfTools(lists: readonly unknown[]): string | undefined {
  // One element of Google's list declares several functions.
  const tools = lists.flatMap((tool) => {
    const declared = asRecord(tool)?.["functionDeclarations"];
    return Array.isArray(declared) ? (declared as unknown[]) : [tool];
  });
  const names = tools.map((tool) => {
    const fields = asRecord(tool);
    return (
      asString(fields?.["name"]) ??
      asString(asRecord(fields?.["function"])?.["name"]) ??
      asString(fields?.["type"]) ??
      // A tool that Google runs itself is a member: `{"googleSearch":{}}`.
      (fields && Object.keys(fields).length === 1 ? Object.keys(fields)[0] : undefined)
    );
  });
  return names.every((name) => name !== undefined) ? `${names.length}: ${names.join(", ")}` : undefined;
}

/** At most `width` characters. */
export function wordsOf(value: unknown, width: number): string {
  // A list by itself is the list of tools.
  const words = (Array.isArray(value) ? namesOfTools(value) : undefined) ?? plain(value);
  return oneLine(words, width);
}
