/** Requests of the Chat SDK's adapter of GitHub, with its parser and its check of signatures, without its queue. */
import { GitHubAdapter } from "@chat-adapter/github";
import { fieldOf, isRecord, recordOf, stringOf } from "@pagurus/core/data/record-fields";
import { errorText } from "@pagurus/core/data/error-text";
import { limitError, silent } from "./chat-failure.ts";
import { idOfListed, writtenIn, type WrittenText } from "./github-event.ts";
import type { Hook } from "./hook-connection.ts";

/** Timeout of one request, ms. */
const REQUEST_MS = 30_000;
const MOST_ENTRIES = 100;
/** Statuses that a repeat does not change. */
const REFUSALS: readonly unknown[] = [403, 404, 410, 422];
/** In the sentence of a 403 that is one of a limit. */
const LIMIT_WORDS = /rate limit|abuse/i;
/** Pause after a limit that names no time, s. */
const LEAST_WAIT_S = 60;

export interface Account {
  id: number;
  login: string;
}

/** A repository as GitHub names it. */
export interface Repository extends Record<string, unknown> {
  full_name: string;
  name: string;
  owner: { login: string };
}

/** An entry of a list: an issue, a pull request or a comment, of which the title may not be known yet. */
export interface Listed {
  event: "issues" | "pull_request" | "issue_comment" | "pull_request_review_comment";
  /** When it was written, ms since the epoch. */
  writtenAt: number;
  /** As `WrittenText.id`. */
  id: string;
  /** Account that wrote it; undefined for one that is gone. */
  author: number | undefined;
  /** Number of the issue or pull request. */
  number: number;
  item: Record<string, unknown>;
}

export class GitHubRequests extends GitHubAdapter {
  constructor(url: string, token: string, webhookSecret: string) {
    // What is not named here would come from the environment.
    super({ apiUrl: url, token, webhookSecret, userName: "pagurus", botUserId: 0, logger: silent });
    // Its client writes each failed request to the standard error.
    this.octokit.log.warn = () => undefined;
    this.octokit.log.error = () => undefined;
    this.octokit.hook.before("request", (options) => {
      options.request = { ...options.request, signal: AbortSignal.timeout(REQUEST_MS) };
    });
  }

  /** Throws GitHub's error for a wrong token or a service that is not there. */
  async login(): Promise<Account> {
    const { data } = await this.octokit.rest.users.getAuthenticated();
    return { id: data.id, login: data.login };
  }

  isSigned({ headers, body }: Hook): boolean {
    const signature = headers["x-hub-signature-256"];
    return typeof signature === "string" && this.verifySignature(body.toString("utf8"), signature);
  }

  /** `name`: `owner/repository`. Throws GitHub's error where the account may not read it. */
  async repository(name: string): Promise<Repository> {
    const [owner = "", repo = ""] = name.split("/");
    const { data } = await this.octokit.rest.repos.get({ owner, repo });
    return data as unknown as Repository;
  }

  /** Everything in a repository that was written since a time (ms since the epoch), oldest first. */
  async listed(
    { owner: { login: owner }, name: repo, full_name: name }: Repository,
    since: number,
  ): Promise<Listed[]> {
    const where = { owner, repo, since: new Date(since).toISOString(), per_page: MOST_ENTRIES };
    const { rest } = this.octokit;
    const issues = await this.octokit.paginate(rest.issues.listForRepo, { ...where, state: "all" });
    const comments = await this.octokit.paginate(rest.issues.listCommentsForRepo, where);
    const lines = await this.octokit.paginate(rest.pulls.listReviewCommentsForRepo, where);
    const all = [
      ...issues.map((item) =>
        entryOf(item.pull_request ? "pull_request" : "issues", item, item.number, name),
      ),
      ...comments.map((item) => entryOf("issue_comment", item, numberIn(item.issue_url), name)),
      ...lines.map((item) =>
        entryOf("pull_request_review_comment", item, numberIn(item.pull_request_url), name),
      ),
    ];
    // Lists have what was changed since then, too.
    return all
      .filter(({ writtenAt }) => writtenAt >= since)
      .toSorted((one, other) => one.writtenAt - other.writtenAt);
  }

  /** An entry as the event that GitHub posts of it; undefined for what no person wrote, and where its issue is gone. */
  async writtenOf(
    { event, item, number }: Listed,
    repository: Repository,
    subjects: Map<number, Record<string, unknown> | undefined>,
  ): Promise<WrittenText | undefined> {
    if (recordOf(item["user"])["type"] !== "User") return undefined;
    if (event === "issues") return writtenIn(event, { action: "opened", issue: item, repository });
    if (event === "pull_request")
      return writtenIn(event, { action: "opened", pull_request: item, repository });
    if (!subjects.has(number)) subjects.set(number, await this.#subject(repository, number));
    const subject = subjects.get(number);
    const about = event === "issue_comment" ? { issue: subject } : { pull_request: subject };
    return writtenIn(event, { action: "created", comment: item, ...about, repository });
  }

  async #subject(
    { owner: { login: owner }, name: repo }: Repository,
    number: number,
  ): Promise<Record<string, unknown> | undefined> {
    try {
      const { data } = await this.octokit.rest.issues.get({ owner, repo, issue_number: number });
      return isRecord(data) ? data : undefined;
    } catch (error) {
      if (isRefusal(error)) return undefined;
      throw error;
    }
  }

  /** Id of a comment of an account with a text in it, written since a time; undefined where there is none. */
  async find(
    thread: string,
    { text, author, since }: { text: string; author: number; since: number },
  ): Promise<string | undefined> {
    const { owner, repo, prNumber, reviewCommentId } = this.decodeThreadId(thread);
    const where = { owner, repo, since: new Date(since).toISOString(), per_page: MOST_ENTRIES };
    const { rest } = this.octokit;
    const { data } =
      reviewCommentId === undefined
        ? await rest.issues.listComments({ ...where, issue_number: prNumber })
        : await rest.pulls.listReviewComments({ ...where, pull_number: prNumber });
    const comments: readonly { id: number; body?: string; user: { id: number } | null }[] = data;
    const found = comments.find(({ body, user }) => user?.id === author && body?.includes(text) === true);
    return found && String(found.id);
  }
}

interface Entry {
  id: number;
  created_at: string;
  user: { id: number } | null;
}

function entryOf(event: Listed["event"], item: Entry, number: number, repository: string): Listed {
  return {
    event,
    writtenAt: Date.parse(item.created_at),
    id: idOfListed(event, { id: item.id, number, repository }),
    author: item.user?.id,
    number,
    item: item as unknown as Record<string, unknown>,
  };
}

/** The number at the end of the address of an issue or pull request. */
function numberIn(url: string): number {
  return Number(/\/(\d+)$/.exec(url)?.[1]);
}

/**
 * How long to wait after an error of a limit, s; undefined for every other error. Without a time it is a minute, as GitHub asks of clients:
 * https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api
 */
function limitOf(error: unknown): number | undefined {
  const status = fieldOf(error, "status");
  const headers = recordOf(fieldOf(fieldOf(error, "response"), "headers"));
  const wait = Number(headers["retry-after"] ?? Number.NaN);
  if (Number.isFinite(wait)) return wait;
  const isSpent = headers["x-ratelimit-remaining"] === "0";
  const isNamed = status === 403 && LIMIT_WORDS.test(stringOf(fieldOf(error, "message")));
  if (status !== 429 && !isSpent && !isNamed) return undefined;
  const resetAt = isSpent ? Number(headers["x-ratelimit-reset"]) : 0;
  return resetAt > 0 ? Math.max(resetAt - Date.now() / 1_000, 1) : LEAST_WAIT_S;
}

/** Whether GitHub will answer the same again. */
export function isRefusal(error: unknown): boolean {
  return limitOf(error) === undefined && REFUSALS.includes((error as { status?: unknown }).status);
}

/** An error of one of GitHub's limits as the adapters have theirs, with how long to wait; any other as it is. */
export function asLimit(error: unknown): unknown {
  const wait = limitOf(error);
  return wait === undefined ? error : limitError(errorText(error), wait);
}
