/** Fetches a page and converts it to text. Loaded at the first fetch, since Node's HTTP client is slow to load. */
import type { ToolOutcome } from "@pagurus/contract/harness/tool";
import { checkUrl, staysOnHost } from "./fetch-url.ts";
import { isBinary } from "../files/file-access.ts";
import { failedOutcome, textOutcome } from "../host-tool.ts";
import { ToolError } from "../tool-error.ts";
import { htmlText } from "./html-text.ts";
import { httpGet, type HttpAnswer } from "./http-get.ts";

const MOST_BYTES = 1024 * 1024;
const TIMEOUT_MS = 30_000;
const MOST_REDIRECTS = 5;
/** Maximum characters of one answer; below the host's trim limit of a tool result (48,000). */
const MOST_CHARACTERS = 40_000;
const MOST_ERROR_CHARACTERS = 2_000;
const TEXT_TYPES =
  /^(?:text\/|application\/(?:[\w.+-]*\+)?(?:json|xml|yaml|x-yaml|toml|javascript|x-ndjson)$|$)/;

function decodeText(answer: HttpAnswer): string {
  const meta = /<meta[^>]{0,200}charset=["']?([\w-]+)/i.exec(answer.bytes.toString("latin1", 0, 2_048))?.[1];
  for (const label of [answer.charset, answer.mimeType.includes("html") ? meta : undefined]) {
    if (label === undefined) continue;
    try {
      return new TextDecoder(label).decode(answer.bytes);
    } catch {
      // An unknown charset: try the next guess.
      continue;
    }
  }
  return new TextDecoder("utf-8").decode(answer.bytes);
}

function readableText(answer: HttpAnswer, url: URL): string {
  if (!TEXT_TYPES.test(answer.mimeType) || isBinary(answer.bytes)) {
    throw new ToolError(`"${url.href}" is ${answer.mimeType || "binary"}; only text can be fetched.`);
  }
  const text = decodeText(answer);
  const isHtml =
    answer.mimeType.includes("html") || (answer.mimeType === "" && /^\s*<(?:!doctype|html)/i.test(text));
  return isHtml ? htmlText(text, url) : text;
}

function outcomeOf(answer: HttpAnswer, url: URL, offset: number): ToolOutcome {
  const details = { status: answer.status, url: url.href, bytes: answer.bytes.length };
  if (answer.status < 200 || answer.status > 299) {
    const body = TEXT_TYPES.test(answer.mimeType)
      ? readableText(answer, url).slice(0, MOST_ERROR_CHARACTERS)
      : "";
    return failedOutcome(`"${url.href}" answered with status ${answer.status}.\n${body}`.trimEnd(), details);
  }
  const text = readableText(answer, url);
  const end = offset + MOST_CHARACTERS;
  const notes = [
    ...(text.length > end
      ? [`[characters ${offset}-${end} of ${text.length}; continue with offset ${end}]`]
      : []),
    ...(answer.cut ? [`[the page is longer than ${MOST_BYTES} bytes; the rest was not read]`] : []),
  ];
  const shown = text.slice(offset, end);
  return textOutcome([shown === "" ? "(no text)" : shown, ...notes].join("\n"), details);
}

export interface PageRequest {
  url: URL;
  /** The host is this machine or in a private network, and was allowed. */
  local: boolean;
  /** Index of the first character to return. */
  offset: number;
  signal: AbortSignal;
}

/** Throws `ToolError`, or the signal's reason. */
export async function fetchPage(request: PageRequest): Promise<ToolOutcome> {
  const { url: first, local, offset, signal } = request;
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  let url = first;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects += 1) {
    let answer: HttpAnswer;
    try {
      answer = await httpGet({
        url,
        local,
        mostBytes: MOST_BYTES,
        signal: AbortSignal.any([signal, deadline]),
      });
    } catch (error) {
      if (deadline.aborted) throw new ToolError(`"${url.href}" took longer than ${TIMEOUT_MS / 1_000} s.`);
      throw error;
    }
    if (answer.status < 300 || answer.status > 399 || answer.location === undefined) {
      return outcomeOf(answer, url, offset);
    }
    const { url: next, local: nextLocal } = checkUrl(answer.location, url);
    if (!staysOnHost(url, next) || nextLocal !== local) {
      return textOutcome(`"${url.href}" redirects to another host: call web_fetch with ${next.href}`, {
        status: answer.status,
        url: url.href,
      });
    }
    url = next;
  }
  throw new ToolError(`"${first.href}" redirects more than ${MOST_REDIRECTS} times.`);
}
