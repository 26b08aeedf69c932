/** Events of GitHub as messages: a repository is a group, an issue or pull request a thread of it. */
import type { GitHubRawMessage } from "@chat-adapter/github";
import { codeLines } from "@pagurus/core/data/code-lines";
import { isRecord, recordOf } from "@pagurus/core/data/record-fields";

/** An older event is a repeat by hand, or a copy that someone else posts; ms. */
export const OLDEST_MS = 7 * 24 * 60 * 60_000;

/** How far GitHub's clock may be from ours, and how late its lists may be, ms. */
export const CLOCK_SLACK_MS = 10 * 60_000;

/** What a person wrote. */
export interface WrittenText {
  raw: GitHubRawMessage;
  /** The same at each delivery. */
  id: string;
  repository: string;
  /** Number of the issue or pull request. */
  number: number;
  title: string;
  body: string;
  /** When it was written, ms since the epoch. */
  writtenAt: number;
}

/** Kinds of events, with the key of what they are about, and what their ids begin with. */
const EVENTS: Readonly<Record<string, { about: string; action: string; prefix: string }>> = {
  issues: { about: "issue", action: "opened", prefix: "i" },
  pull_request: { about: "pull_request", action: "opened", prefix: "p" },
  issue_comment: { about: "issue", action: "created", prefix: "c" },
  pull_request_review_comment: { about: "pull_request", action: "created", prefix: "r" },
};

/** The same in an event and in a list. A pull request has another id in a list of issues, where it is found after an absence. */
function eventItemId(
  prefix: string,
  { id, number, repository }: { id: number; number: number; repository: string },
): string {
  return prefix === "p" ? `p${repository}#${number}` : `${prefix}${id}`;
}

/** The id that `writtenIn` gives an entry of a list. */
export function idOfListed(
  event: string,
  listed: { id: number; number: number; repository: string },
): string {
  return eventItemId(EVENTS[event]?.prefix ?? "", listed);
}

/** Undefined for changes, for what programs wrote, and for everything else that is no new text of a person. */
export function writtenIn(
  event: string,
  payload: Readonly<Record<string, unknown>>,
): WrittenText | undefined {
  const kind = Object.hasOwn(EVENTS, event) ? EVENTS[event] : undefined;
  if (kind?.action !== payload["action"] || !kind) return undefined;
  const subject = payload[kind.about];
  const written = kind.action === "opened" ? subject : payload["comment"];
  const { repository } = payload;
  if (!isRecord(subject) || !isRecord(written) || !isRecord(repository)) return undefined;
  const { number, title } = subject;
  const { full_name: name } = repository;
  const { id, body, created_at: at, user } = written;
  const { id: author, login, type } = recordOf(user);
  const isByPerson = typeof author === "number" && typeof login === "string" && type === "User";
  const writtenAt = typeof at === "string" ? Date.parse(at) : Number.NaN;
  const isRecent = Date.now() - writtenAt < OLDEST_MS;
  if (typeof number !== "number" || typeof title !== "string" || typeof name !== "string") return undefined;
  if (typeof id !== "number" || !isByPerson || !isRecent || !isRecord(repository["owner"])) return undefined;
  const text = typeof body === "string" ? body : "";
  const isPull = kind.about === "pull_request" || subject["pull_request"] !== undefined;
  const raw = {
    type: event === "pull_request_review_comment" ? "review_comment" : "issue_comment",
    comment: { ...written, body: text },
    repository,
    prNumber: number,
    threadType: isPull ? "pr" : "issue",
  };
  return {
    raw: raw as unknown as GitHubRawMessage,
    id: eventItemId(kind.prefix, { id, number, repository: name }),
    repository: name,
    number,
    title,
    body: text,
    writtenAt,
  };
}

/** The lines of a text; those of a code block, with the fences around it, are code. */
function linesOf(text: string): { line: string; isCode: boolean }[] {
  const isCode = codeLines();
  return text.split("\n").map((line) => ({ line, isCode: isCode(line) }));
}

/** The body without its code blocks, quoted lines and code in lines: what is there speaks to no one. */
function spokenLines(body: string): string {
  return linesOf(body)
    .filter(({ line, isCode }) => !isCode && !/^\s*>/.test(line))
    .map(({ line }) => line.replaceAll(/`[^`]*`/g, ""))
    .join("\n");
}

/** Whether it mentions an account, as GitHub understands it. */
export function mentions(body: string, login: string): boolean {
  const name = login.replaceAll(/[^\w-]/g, "\\$&");
  return new RegExp(`(?<![\\w/@.-])@${name}(?![\\w-])`, "i").test(spokenLines(body));
}

/** "@crab what is this" is "what is this". */
export function withoutAddress(body: string, login: string): string {
  const name = login.replaceAll(/[^\w-]/g, "\\$&");
  return body.replace(new RegExp(`^\\s*@${name}(?![\\w-])[:,]?\\s*`, "i"), "");
}

/** A text in which no name is a mention, so that an answer notifies no one besides those who take part. Code stays as it is. */
export function withoutMentions(text: string): string {
  return linesOf(text)
    .map(({ line, isCode }) =>
      isCode
        ? line
        : line.replaceAll(/`[^`]*`|@(?=[\w-])/g, (found) => (found === "@" ? "@<!-- -->" : found)),
    )
    .join("\n");
}
