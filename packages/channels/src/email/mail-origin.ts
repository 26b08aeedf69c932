/**
 * Where a mail comes from: whether its From is proven, and whether a person wrote it.
 *
 * The proof is what the receiving server wrote into the mail (RFC 8601). Anyone can write such a field: only those count that bear the
 * configured name and are beside the server's own `Received`, above everything that the mail had when the server received it. Mail of programs is never answered: an answer
 * could come back, again and again.
 */
import { headerIn, messageIds, type MailHeader } from "./mail-headers.ts";
import { OWN_ID } from "./mail-thread.ts";

const RESULTS_FIELD = "authentication-results";

interface Result {
  method: string;
  verdict: string;
  /** Such as `header.d` → `example.org`; in lower case. */
  properties: ReadonlyMap<string, string>;
}

/**
 * The words of each `;`-separated part, without comments. Quoted text stays one word: a sender's address may hold `; dkim=pass` in
 * quotes.
 */
function partsOf(value: string): string[][] {
  const parts: string[][] = [];
  let words: string[] = [];
  let word = "";
  let depth = 0;
  let isQuoted = false;
  const endWord = (): void => {
    if (word !== "") words.push(word);
    word = "";
  };
  for (let at = 0; at < value.length; at += 1) {
    const letter = value[at] ?? "";
    if (letter === "\\") {
      at += 1;
      if (depth === 0) word += value[at] ?? "";
    } else if (depth > 0) depth += letter === "(" ? 1 : letter === ")" ? -1 : 0;
    else if (letter === '"') isQuoted = !isQuoted;
    else if (isQuoted) word += letter;
    else if (letter === "(") depth = 1;
    else if (letter === ";") {
      endWord();
      parts.push(words);
      words = [];
    } else if (/\s/.test(letter)) endWord();
    else word += letter;
  }
  endWord();
  // An open quote or comment: what it holds is not known.
  return isQuoted || depth > 0 ? parts : [...parts, words];
}

function propertiesIn(words: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const word of words) {
    const at = word.indexOf("=");
    const name = word.slice(0, Math.max(0, at)).toLowerCase();
    if (name !== "" && !found.has(name)) found.set(name, word.slice(at + 1).toLowerCase());
  }
  return found;
}

function resultsIn(value: string): { server: string; results: Result[] } {
  const [[server = ""] = [], ...rest] = partsOf(value);
  const results = rest.flatMap(([head = "", ...words]): Result[] => {
    const [, method, verdict] = /^([\w-]+)(?:\/\d+)?=([\w-]+)$/.exec(head.toLowerCase()) ?? [];
    if (method === undefined || verdict === undefined) return [];
    return [{ method, verdict, properties: propertiesIn(words) }];
  });
  return { server: server.toLowerCase(), results };
}

/** `Received: from … by … with LMTP`: the last step, from the server into the mailbox. */
const INTO_MAILBOX = /\bwith\s+(?:utf8)?lmtps?a?\b/i;

/** What a server wrote, and how many `Received` fields are above it, of which those into the mailbox do not count. */
export interface FoundField {
  value: string;
  hops: number;
}

/** All fields of results with the name of a server, in their order. */
export function fieldsOf(headers: readonly MailHeader[], authserv: string): FoundField[] {
  const found: FoundField[] = [];
  let hops = 0;
  for (const { name, value } of headers) {
    if (name === "received" && (hops > 0 || !INTO_MAILBOX.test(value))) hops += 1;
    if (name === RESULTS_FIELD && resultsIn(value).server === authserv.toLowerCase())
      found.push({ value, hops });
  }
  return found;
}

/** Names of the servers whose results a mail has. */
export function serversOf(headers: readonly MailHeader[]): string[] {
  const all = headers
    .filter(({ name }) => name === RESULTS_FIELD)
    .map(({ value }) => resultsIn(value).server);
  return [...new Set(all)].filter((server) => server !== "");
}

/** The server that checks senders, as the configuration names it. */
export interface Verifier {
  authserv: string;
  /** `Received` fields above its results: a sender cannot add one there. */
  hops: number;
}

/** Results of the server itself. Where its own are not at the top of the head, others could follow them: the first one counts. */
function trustedResults(headers: readonly MailHeader[], { authserv, hops }: Verifier): Result[] {
  const own = fieldsOf(headers, authserv).filter((field) => field.hops === hops);
  return (hops === 0 ? own : own.slice(0, 1)).flatMap(({ value }) => resultsIn(value).results);
}

/** Whether a proof for `proven` holds for mails of `domain`: the same domain, or one above it. */
function isAligned(domain: string, proven: string): boolean {
  const given = (proven.split("@").at(-1) ?? "").replace(/\.$/, "");
  if (given === "") return false;
  return given === domain || (given.includes(".") && domain.endsWith(`.${given}`));
}

/**
 * Whether the server `authserv` has found that the mail comes from the domain of `from`: by DMARC, by a signature (DKIM) or by the
 * sending machine (SPF) of that domain or one above it.
 */
export function isVerified(
  headers: readonly MailHeader[],
  from: string,
  authserv: string,
  hops = 0,
): boolean {
  const domain = from.split("@").at(-1)?.toLowerCase() ?? "";
  if (domain === "") return false;
  return trustedResults(headers, { authserv, hops }).some(({ method, verdict, properties }) => {
    if (verdict !== "pass") return false;
    if (method === "dmarc") return properties.get("header.from") === domain;
    if (method === "dkim")
      return isAligned(domain, properties.get("header.d") ?? properties.get("header.i") ?? "");
    return method === "spf" && isAligned(domain, properties.get("smtp.mailfrom") ?? "");
  });
}

/** In each mail that the host sends, with its own address. */
export const LOOP_HEADER = "X-Loop";
/** Fields of mailing lists and of programs that answer by themselves. */
const MARKS = [
  "list-id",
  "list-unsubscribe",
  "list-post",
  "x-autoreply",
  "x-autorespond",
  "x-auto-reply",
  "feedback-id",
];
const ROBOT = /^(?:mailer-daemon|postmaster|no-?reply|do-?not-?reply|bounces?)(?:[+._-][^@]*)?@/;

export type AutomaticKind = "own" | "bounce" | "automatic";

/** Why a mail is never answered; undefined for one of a person. `from` and `address` (the host's own) in lower case. */
export function automaticKind(
  headers: readonly MailHeader[],
  from: string,
  address: string,
): AutomaticKind | undefined {
  const value = (name: string): string => (headerIn(headers, name) ?? "").toLowerCase();
  const [id = ""] = messageIds(headerIn(headers, "message-id"));
  if (from === address) return "own";
  if (OWN_ID.test(id) && id.endsWith(`@${address.split("@").at(-1) ?? ""}>`)) return "own";
  const loops = headers.filter(({ name }) => name === LOOP_HEADER.toLowerCase());
  if (loops.some(({ value: loop }) => loop.toLowerCase() === address)) return "own";
  const type = value("content-type");
  if (headerIn(headers, "return-path") === "<>" || type.startsWith("multipart/report")) return "bounce";
  if (/^(?:mailer-daemon|postmaster)@/.test(from)) return "bounce";
  const submitted = value("auto-submitted").split(/[;\s(]/)[0] ?? "";
  if (submitted !== "" && submitted !== "no") return "automatic";
  if (/^(?:bulk|junk|list|auto_reply)\b/.test(value("precedence"))) return "automatic";
  if (MARKS.some((mark) => headerIn(headers, mark) !== undefined)) return "automatic";
  return ROBOT.test(from) ? "automatic" : undefined;
}
