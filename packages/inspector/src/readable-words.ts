/** A part of a request's JSON as a person reads it: its texts without quotes and escapes, its calls and values in lines. */

/** Kinds and places that are no text. */
const UNREAD = new Set([
  "type",
  "role",
  "id",
  "call_id",
  "tool_use_id",
  "tool_call_id",
  "cache_control",
  "signature",
]);
/** A value that is no text, such as an image as base64. */
const LONG_WORD = 2_000;

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "", f: "" };

/** `raw`: the bytes of a part, or a piece of them: then strings may begin and end anywhere. */
export function readableWords(raw: string): string {
  const value = parsed(raw.trim());
  if (value === undefined) return unescaped(raw.replace(/^"|"$/g, ""));
  return read(value).trim();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A piece, or a part of a string.
    return undefined;
  }
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(?:u([\da-fA-F]{4})|(.))/gs, (_, code: string | undefined, letter: string) =>
    code === undefined ? (ESCAPES[letter] ?? letter) : String.fromCharCode(Number.parseInt(code, 16)),
  );
}

function read(value: unknown): string {
  if (typeof value === "string") return isData(value) ? `[${value.length} characters of data]` : value;
  if (value === null || typeof value !== "object") return String(value);
  if (Array.isArray(value)) return value.map(read).join("\n\n");
  return readFields(value as Record<string, unknown>);
}

function isData(text: string): boolean {
  return text.length > LONG_WORD && !/\s/.test(text.slice(0, LONG_WORD));
}

function readFields(fields: Record<string, unknown>): string {
  const call = callText(fields);
  if (call !== undefined) return call;
  const shown = Object.entries(fields).filter(([name]) => !UNREAD.has(name));
  const [only] = shown;
  // The one text of a block or a message needs no name.
  if (shown.length === 1 && only) return read(only[1]);
  return shown
    .map(([name, value]) => `${name}: ${isShort(value) ? read(value) : `\n${read(value)}`}`)
    .join("\n");
}

function isShort(value: unknown): boolean {
  return typeof value !== "object" || value === null;
}

/** A tool call: its name, and its arguments in lines. */
function callText(fields: Record<string, unknown>): string | undefined {
  const inner = fields["function"] ?? fields["functionCall"];
  if (typeof inner === "object" && inner !== null) return callText(inner as Record<string, unknown>);
  const { name } = fields;
  const given = fields["input"] ?? fields["arguments"] ?? fields["args"];
  if (typeof name !== "string" || given === undefined) return undefined;
  const values = typeof given === "string" ? (parsed(given) ?? given) : given;
  return `${name}\n${read(values)}`;
}
