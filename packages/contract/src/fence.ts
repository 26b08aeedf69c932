/**
 * Escaping of text that is quoted inside a prompt, so that it can neither close its fence nor start a line that looks like a
 * new message. Byte-stable and reversible: one backslash before what would be read as structure.
 */

/** Tags that the host puts around quoted text. */
const TAGS = "conversation_context|instructions|transcript|summary_so_far";
/** Words after the opening bracket of a label line. */
const LABELS =
  "user|assistant|system|developer|tool\\s+(?:result|call)|additional\\s+context|calls|(?:result|failed)\\s+of|data\\s+from";
/** The line between a fence and the request. */
const REQUEST = "Current\\s+user\\s+request:";
/** Characters that a reader treats as the end of a line. */
const BREAK = "\\n\\r\\v\\f\\x85\\u2028\\u2029";
/** Blank and invisible characters inside a line; they hide a label from a pattern but not from a model. */
const BLANK = `[[\\s\\p{Cc}\\p{Cf}]--[${BREAK}]]`;

function tagPattern(names: string): RegExp {
  return new RegExp(`<(\\\\*)(?=[\\s\\p{Cc}\\p{Cf}\\/]*(?:${names})(?![a-z0-9_]))`, "giv");
}

const TAG = tagPattern(TAGS);
const LABEL = new RegExp(
  `(?<![^${BREAK}])(${BLANK}*)(\\\\*)(?=\\[${BLANK}*(?:${LABELS})(?![a-z0-9_])|${REQUEST})`,
  "giv",
);

function literal(name: string): string {
  return [...name].map((character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ""}}`).join("");
}

/**
 * Escapes text for use inside a fence. `fence`: name of the surrounding tag, if it is not one of the host's usual ones.
 */
export function quoted(text: string, fence?: string): string {
  const plain = text.replace(TAG, "<\\$1").replace(LABEL, "$1\\$2");
  return fence === undefined ? plain : plain.replace(tagPattern(literal(fence)), "<\\$1");
}

/** A value for an attribute of a fence. */
function attribute(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll('"', "&quot;")
    .replaceAll("<", "&lt;")
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");
}

/**
 * A text from a file of the working folder, in an element with the path that it comes from; neither can close or imitate it. Every such
 * text enters a prompt through here. `trusted` false marks it as written by others than the user. For example
 * `<project_instructions path="/w/AGENTS.md" trusted="no">`.
 */
export function fencedFile(
  tag: string,
  { path, text, trusted = true }: { path: string; text: string; trusted?: boolean },
): string {
  const mark = trusted ? "" : ' trusted="no"';
  return `<${tag} path="${attribute(path)}"${mark}>\n${quoted(text, tag)}\n</${tag}>`;
}

/** A name for use inside a label, such as a call id: without brackets, blanks and line breaks. */
export function labelWord(word: string): string {
  return word.replaceAll(/[\s\p{C}[\]<>]/gu, "_");
}
