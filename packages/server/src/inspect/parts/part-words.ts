/** Beginning of the text of a part, for a list: found in its first bytes, so that a long part costs no more than a short one. */
import type { BodyPart } from "./body-part.ts";

/** Characters of the result. */
const MOST_CHARS = 100;
/** Bytes that are looked at: of a text, and of a tool, whose name may follow its description. */
const SEEN_TEXT_BYTES = 800;
const TOOL_BYTES = 8_192;

const NAME = /"name"\s*:\s*"((?:[^"\\]|\\.)*)"/s;
const CALL = /"type"\s*:\s*"(?:tool_use|function_call|custom_tool_call|function)"|"functionCall"/;
const ARGUMENTS_START = /"(?:input|arguments|args)"\s*:\s*(?:"|(?=\{))/;
const IMAGE = /"type"\s*:\s*"(?:image|image_url|input_image)"|"inline_?[dD]ata"/;
const TEXT = /"(?:text|content|output|thinking|result|summary)"\s*:\s*"/g;
/** A text that follows is a name or a kind and no content. */
const KINDS = /"(?:type|role|id|tool_use_id|call_id|tool_call_id)"\s*:\s*"(?:[^"\\]|\\.)*"/g;

/** Undefined for a part without a text. */
export function wordsOf(part: Pick<BodyPart, "source" | "from" | "to">, body: Buffer): string | undefined {
  const { source, from, to } = part;
  if (source === "framing") return undefined;
  const most = source === "tools" ? TOOL_BYTES : SEEN_TEXT_BYTES;
  const raw = body.subarray(from, Math.min(to, from + most)).toString("utf8");
  const found = source === "tools" ? (NAME.exec(raw)?.[1] ?? "") : textIn(raw);
  const words = found.replace(/\s+/g, " ").trim();
  return words === "" ? undefined : words.slice(0, MOST_CHARS);
}

function textIn(raw: string): string {
  const text = raw.trimStart();
  if (text.startsWith('"')) return unescapedText(text.slice(1));
  if (!text.startsWith("{") && !text.startsWith("[")) return unescapedText(text);
  if (CALL.test(text)) {
    const name = NAME.exec(text)?.[1] ?? "";
    const given = ARGUMENTS_START.exec(text);
    const rest = given ? text.slice(given.index + given[0].length) : "";
    const isString = given?.[0].endsWith('"') === true;
    return `${name}(${isString ? unescapedText(rest) : objectText(rest)})`;
  }
  if (IMAGE.test(text)) return "an image";
  const plain = text.replaceAll(KINDS, (kind) => " ".repeat(kind.length));
  TEXT.lastIndex = 0;
  const found = TEXT.exec(plain);
  return found ? unescapedText(text.slice(found.index + found[0].length)) : "";
}

/** A JSON object up to its end, or as far as it goes. */
function objectText(raw: string): string {
  let depth = 0;
  for (const { 0: token, index } of raw.matchAll(/"(?:[^"\\]|\\.)*"?|[{}]/gs)) {
    if (token === "{") depth += 1;
    else if (token === "}") depth -= 1;
    if (depth === 0) return raw.slice(0, index + 1);
  }
  return raw;
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "", f: "" };

/** The text of a JSON string up to its end, or as far as it goes. */
function unescapedText(raw: string): string {
  const end = /(?:^|[^\\])(?:\\\\)*"/s.exec(raw);
  const inside = end
    ? raw.slice(0, end.index + end[0].length - 1)
    : raw.replace(/\\(?:u[\da-fA-F]{0,3})?$/, "");
  return inside.replaceAll(/\\(?:u([\da-fA-F]{4})|(.))/gs, (_, code: string | undefined, letter: string) =>
    code === undefined ? (ESCAPES[letter] ?? letter) : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
