/** The words of a server's error, from every form that servers give it. */
import { type Fields, isRecord, listOf, parseJson, recordOf, stringOf } from "../data/record-fields.ts";
import type { AnswerError } from "./answer-reader.ts";
import { plainCount, plainName } from "./answer-values.ts";
import { defined } from "../data/defined.ts";

/** Members with a sentence, the most specific first. */
const SENTENCES = [
  "message",
  "msg",
  "detail",
  "details",
  "error_description",
  "error_message",
  "description",
];
/** Members of an error that hold the error of the server behind a proxy. */
const INNER = ["error", "errors", "body", "fault", "response"];
const MOST_CHARACTERS = 2_000;
/** Nesting of errors in errors that is followed. */
const DEEPEST_ERROR = 5;
const MOST_PAGE_CHARACTERS = 4_000;

/** Words in an error that is text, an object, or a list; empty if it has none. */
function wordsOf(value: unknown, depth = 0): string {
  if (depth > DEEPEST_ERROR) return "";
  if (typeof value === "string") return wordsInText(value, depth);
  if (Array.isArray(value)) {
    const each = listOf(value).map((item) => placed(item, depth));
    return [...new Set(each.filter((words) => words !== ""))].join("; ");
  }
  return isRecord(value) ? wordsIn(value, depth) : "";
}

/** A proxy quotes the error of its server as JSON, also inside a sentence. */
function wordsInText(text: string, depth: number): string {
  const json = /^\s*[{[]/.test(text) ? parseJson(text) : undefined;
  return (json === undefined ? "" : wordsOf(json, depth + 1)) || text.trim();
}

/** An element of a list of errors; one of FastAPI names the place. */
function placed(item: unknown, depth: number): string {
  const words = wordsOf(item, depth + 1);
  const place = listOf(recordOf(item)["loc"]).map(plainName).filter(Boolean).join(".");
  return place === "" || words === "" ? words : `${place}: ${words}`;
}

function wordsIn(fields: Fields, depth: number): string {
  const own = SENTENCES.map((name) => wordsOf(fields[name], depth + 1)).find((words) => words !== "") ?? "";
  // OpenRouter's sentence only names the provider; the provider's own words are in `raw`.
  const raw = wordsOf(recordOf(fields["metadata"])["raw"], depth + 1);
  if (raw !== "" && !own.includes(raw)) return own === "" ? raw : `${own}: ${raw}`;
  if (own !== "") return own;
  for (const name of [...INNER, "faultstring", "Message", "title", "reason"]) {
    const words = wordsOf(fields[name], depth + 1);
    if (words !== "") return words;
  }
  return "";
}

function firstMember(
  fields: readonly Fields[],
  names: readonly string[],
  read: (value: unknown) => string,
): string {
  for (const each of fields) for (const name of names) if (read(each[name]) !== "") return read(each[name]);
  return "";
}

/** Statuses after which the same request may succeed: only a provider that means them has them in the error. */
const PASSING: ReadonlySet<number> = new Set([408, 409, 425, 429]);

/** A status that the error itself has; the answer's own is mostly 200 then. */
function statusIn(fields: readonly Fields[]): number | undefined {
  const names = ["status", "status_code", "statusCode", "http_code", "code"];
  const statuses = fields.flatMap((each) => names.map((name) => plainCount(each[name])));
  const status = statuses.find((each) => each !== undefined && each >= 400 && each <= 599);
  // Google's errors have their status as a word too; others put any number there.
  const isMeant = fields.some((each) => /^[A-Z]+(?:_[A-Z]+)*$/.test(stringOf(each["status"])));
  return status === undefined || isMeant || (status < 500 && !PASSING.has(status)) ? status : undefined;
}

/** The error in `body`, which is one or holds one. `status`: of the answer. */
export function readError(body: unknown, status: number): AnswerError {
  const top = recordOf(Array.isArray(body) ? body[0] : body);
  const listed = listOf(top["errors"])[0] ?? listOf(top["error"])[0];
  const error = recordOf(top["error"] ?? listed);
  const levels = [recordOf(error["error"]), error, recordOf(listed), top];
  const own = wordsOf(top["error"]);
  // OAuth's form has a code there, and the sentence beside it.
  const isCode = /^[\w.-]*$/.test(own);
  const rest = isCode ? wordsOf({ ...top, error: undefined }) : "";
  const message = (rest || own || wordsOf(body)).toWellFormed().slice(0, MOST_CHARACTERS);
  // llama.cpp and vLLM have the status as a number in `code`; the type is more specific.
  const code = firstMember(levels, ["code", "status"], stringOf);
  const type = firstMember(levels, ["type", "object"], (value) => (value === "error" ? "" : stringOf(value)));
  const failed = status >= 400 ? status : statusIn(levels);
  return {
    message,
    ...(code === "" ? {} : { code }),
    ...(type === "" ? {} : { type }),
    ...defined({ status: failed }),
  };
}

const MARKUP = /^\s*<(?:!doctype|html|head|body|\?xml|!--)/i;

/** The error of an answer whose body is no JSON: its words if it is plain text, none if it is a page. */
export function readErrorText(text: string, status: number): AnswerError {
  const isPage = MARKUP.test(text) || /<\/\w+>\s*$/.test(text);
  return {
    message: isPage ? "" : text.trim().toWellFormed().slice(0, MOST_CHARACTERS),
    ...(status >= 400 ? { status } : {}),
    ...(isPage ? { page: text.slice(0, MOST_PAGE_CHARACTERS) } : {}),
  };
}

/** True for a member that reports an error: not for null, false, or an empty text. */
export function isError(value: unknown): boolean {
  return isRecord(value) || (Array.isArray(value) && value.length > 0) || stringOf(value).trim() !== "";
}
