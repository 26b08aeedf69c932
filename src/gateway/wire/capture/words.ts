/** What an element of a request says, on one line. */
import { oneLine } from "../../../command/layout.ts";

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Who says it, or what it is: `user`, `function_call`. */
export function roleOf(value: unknown): string | undefined {
  const fields = fieldsOf(value);
  return textOf(fields?.["role"]) ?? textOf(fields?.["type"]);
}

function json(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** Fields that hold words, in the order in which they are looked for. */
const TEXTS = ["text", "output", "content", "summary", "thinking"] as const;

function ofCalls(calls: unknown): string[] {
  if (!Array.isArray(calls)) return [];
  return calls.map((call) => {
    const called = fieldsOf(fieldsOf(call)?.["function"]) ?? {};
    return `${json(called["name"] ?? "")}(${json(called["arguments"] ?? "")})`;
  });
}

/** A name with arguments: a call of either protocol. A tool's own description has no arguments. */
function ofCall(fields: Fields): string | undefined {
  const given = fields["arguments"] ?? (fields["type"] === "tool_use" ? fields["input"] : undefined);
  const name = textOf(fields["name"]);
  return name === undefined || given === undefined ? undefined : `${name}(${json(given)})`;
}

function ofFields(fields: Fields): string {
  const call = ofCall(fields);
  if (call !== undefined) return call;
  const type = textOf(fields["type"]) ?? "";
  if (/image/.test(type)) return "[image]";
  const calls = ofCalls(fields["tool_calls"]);
  const found = TEXTS.map((name) => fields[name]).find(
    (inner) => inner !== undefined && inner !== null && inner !== "",
  );
  const words = found === undefined ? "" : plain(found);
  const own = [words, ...calls].filter((part) => part !== "").join(" ");
  if (own !== "") return own;
  // Encrypted reasoning and the like have no words; only that they are there.
  return type === "" ? json(fields) : `[${type}]`;
}

function plain(value: unknown): string {
  if (Array.isArray(value)) return value.map(plain).join(" ");
  const fields = fieldsOf(value);
  return fields ? ofFields(fields) : json(value);
}

function namesOfTools(tools: readonly unknown[]): string | undefined {
  const names = tools.map((tool) => {
    const fields = fieldsOf(tool);
    return (
      textOf(fields?.["name"]) ?? textOf(fieldsOf(fields?.["function"])?.["name"]) ?? textOf(fields?.["type"])
    );
  });
  return names.every((name) => name !== undefined) ? `${names.length}: ${names.join(", ")}` : undefined;
}

/** At most `width` characters. */
export function wordsOf(value: unknown, width: number): string {
  // A list stands alone only where it is the tools.
  const words = (Array.isArray(value) ? namesOfTools(value) : undefined) ?? plain(value);
  return oneLine(words, width);
}
