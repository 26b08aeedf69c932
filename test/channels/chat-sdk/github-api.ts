/** A server that speaks as much of GitHub's REST interface as the channel uses, and posts events as GitHub does: once, signed. */
import { createHmac } from "node:crypto";
import { LocalService, type Call, type Reply } from "./local-service.ts";

const OWN: Person = { id: 9_001, login: "crab-bot", type: "User" };
const OWNER = { id: 1, login: "boats", type: "Organization" };
const REPOSITORIES = ["harbour", "other"];

export interface Person {
  id: number;
  login: string;
  type: "User" | "Bot";
}

interface Comment {
  id: number;
  /** `issues/12`, or `reviews/<root comment>`. */
  place: string;
  user: Person;
  body: string;
  created_at: string;
}

export interface EventDetails {
  repo?: string;
  number?: number;
  /** Of a comment in the files of a pull request: the comment that it answers. */
  review?: number;
  /** The text is that of the issue itself. */
  isOpening?: boolean;
  /** The issue is a pull request. */
  isPull?: boolean;
  id?: number;
  action?: string;
  createdAt?: Date;
}

/** An entry of a list: an issue, a pull request, a comment or a comment of a line. */
interface Entry extends Record<string, unknown> {
  kind: "issues" | "comments" | "lines";
  repo: string;
  number: number;
  created_at: string;
}

interface Payload extends Record<string, unknown> {
  issue?: Record<string, unknown>;
  pull_request?: Record<string, unknown>;
  comment?: Record<string, unknown>;
}

export class GitHubApi extends LocalService {
  static readonly token = "github_pat_test";
  static readonly secret = "a secret of the repository's webhook";
  /** Comments of the bot. */
  readonly comments: Comment[] = [];
  /** Paths of the requests of lists. */
  readonly listed: string[] = [];
  /** The answer of the next request that posts a comment. */
  failure: Reply | undefined;
  /** The answer of the next request of a list. */
  listFailure: Reply | undefined;
  /** Cuts the connection of the next comment, after it has been taken. */
  losesAnswer = false;
  /** Where events are posted. */
  hook: (headers: Record<string, string>, body: string) => Promise<number> = () => Promise.resolve(503);
  readonly #written: Entry[] = [];
  readonly #issues = new Map<string, object>();
  #next = 5_000;

  static async open(): Promise<GitHubApi> {
    const made = new GitHubApi();
    await made.start();
    return made;
  }

  static signed(event: string, body: string, secret = GitHubApi.secret): Record<string, string> {
    const signature = createHmac("sha256", secret).update(body).digest("hex");
    return {
      "content-type": "application/json",
      "x-github-event": event,
      "x-hub-signature-256": `sha256=${signature}`,
    };
  }

  /** What is written in an issue; resolves with the status of its event's answer. */
  async say(user: Person, text: string, how: EventDetails = {}): Promise<number> {
    const { event, payload } = this.write(user, text, how);
    const body = JSON.stringify(payload);
    return this.hook(GitHubApi.signed(event, body), body);
  }

  /** As `say`, where the event is posted to no one. */
  write(user: Person, text: string, how: EventDetails = {}): { event: string; payload: object } {
    const { event, payload } = this.eventOf(user, text, how);
    const { repo = "harbour", number = 12, action } = how;
    const { issue, pull_request: pull, comment } = payload;
    if (action !== undefined) return { event, payload };
    const subject = issue ?? pull ?? {};
    const key = `${repo}/${number}`;
    // In a list of issues a pull request has the id of its issue.
    const listed = how.isPull === true ? { ...subject, id: 7_000 + number, pull_request: {} } : subject;
    if (!this.#issues.has(key) || how.isOpening === true) this.#issues.set(key, listed);
    const place = { repo, number, created_at: String(subject["created_at"]) };
    if (how.isOpening === true) this.#written.push({ ...listed, ...place, kind: "issues" });
    else if (comment)
      this.#written.push({
        ...comment,
        ...place,
        kind: how.review === undefined ? "comments" : "lines",
        issue_url: `${this.url}/repos/boats/${repo}/issues/${number}`,
        pull_request_url: `${this.url}/repos/boats/${repo}/pulls/${number}`,
      });
    return { event, payload };
  }

  eventOf(
    user: Person,
    text: string,
    {
      repo = "harbour",
      number = 12,
      review,
      isOpening = false,
      isPull = false,
      id,
      action,
      createdAt,
    }: EventDetails,
  ): { event: string; payload: Payload } {
    const at = (createdAt ?? new Date()).toISOString();
    const comment = { id: id ?? this.#next++, user, body: text, created_at: at, updated_at: at };
    const repository = repositoryOf(repo);
    const subject = { id: 77, number, title: "The keel leaks", user, body: text, created_at: at };
    const made = (event: string, given: string, fields: Payload): { event: string; payload: Payload } => ({
      event,
      payload: { action: action ?? given, ...fields, repository, sender: user },
    });
    if (isOpening)
      return isPull
        ? made("pull_request", "opened", { pull_request: subject })
        : made("issues", "opened", { issue: subject });
    if (review !== undefined) {
      const line = { ...comment, in_reply_to_id: review, path: "keel.c", diff_hunk: "@@", commit_id: "c" };
      return made("pull_request_review_comment", "created", { comment: line, pull_request: subject });
    }
    return made("issue_comment", "created", { comment, issue: subject });
  }

  /** Comments of the bot at a place, as people see them. */
  got(place: string): string[] {
    return this.comments
      .filter((each) => each.place === place)
      .map(({ body }) => body.replaceAll(/<!--[^]*?-->/g, "").trim());
  }

  protected override answer(call: Call): Reply {
    const { method, path, headers } = call;
    if (headers.authorization !== `token ${GitHubApi.token}`)
      return { status: 401, body: { message: "Bad credentials" } };
    const { pathname, searchParams } = new URL(path, this.url);
    if (pathname === "/user") return { status: 200, body: OWN };
    const [, repo = "", rest = ""] = /^\/repos\/boats\/(\w+)(?:\/(.*))?$/.exec(pathname) ?? [];
    if (!REPOSITORIES.includes(repo)) return { status: 404, body: { message: "Not Found" } };
    if (rest === "") return { status: 200, body: repositoryOf(repo) };
    if (method === "GET") return this.#get(repo, rest, searchParams);
    return this.#post(rest, call.body);
  }

  #get(repo: string, rest: string, asked: URLSearchParams): Reply {
    const kind = ({ issues: "issues", "issues/comments": "comments", "pulls/comments": "lines" } as const)[
      rest
    ];
    if (kind !== undefined) {
      this.listed.push(`${repo}/${rest}`);
      const { listFailure } = this;
      this.listFailure = undefined;
      if (listFailure) return listFailure;
      const since = Date.parse(asked.get("since") ?? "");
      const all = this.#written.filter(
        (each) => each.kind === kind && each.repo === repo && Date.parse(each.created_at) >= since,
      );
      return this.#pageOf(all, `/repos/boats/${repo}/${rest}`, asked);
    }
    const [, one] = /^issues\/(\d+)$/.exec(rest) ?? [];
    const issue = this.#issues.get(`${repo}/${one ?? ""}`);
    if (one !== undefined)
      return issue ? { status: 200, body: issue } : { status: 404, body: { message: "Not Found" } };
    const [, of, number = ""] = /^(issues|pulls)\/(\d+)\/comments$/.exec(rest) ?? [];
    const place = `${of ?? ""}/${number}`;
    return {
      status: 200,
      body: this.comments.filter((each) =>
        of === "issues" ? each.place === place : each.place.startsWith("reviews/"),
      ),
    };
  }

  #pageOf(all: readonly object[], path: string, asked: URLSearchParams): Reply {
    const [size, page] = [Number(asked.get("per_page")), Number(asked.get("page") ?? 1)];
    const next = new URLSearchParams(asked);
    next.set("page", String(page + 1));
    const hasMore = all.length > size * page;
    return {
      status: 200,
      body: all.slice(size * (page - 1), size * page),
      ...(hasMore && { headers: { link: `<${this.url}${path}?${next.toString()}>; rel="next"` } }),
    };
  }

  #post(rest: string, body: Buffer): Reply {
    const [, number = "", review] =
      /^(?:issues|pulls)\/(\d+)\/comments(?:\/(\d+)\/replies)?$/.exec(rest) ?? [];
    if (number === "") return { status: 404, body: { message: "Not Found" } };
    if (this.failure) {
      const { failure } = this;
      this.failure = undefined;
      return failure;
    }
    const place = review === undefined ? `issues/${number}` : `reviews/${review}`;
    const { body: text } = JSON.parse(body.toString()) as { body: string };
    const created_at = new Date().toISOString();
    const comment: Comment = { id: this.#next++, place, user: OWN, body: text, created_at };
    this.comments.push(comment);
    if (this.losesAnswer) {
      this.losesAnswer = false;
      this.cut();
    }
    return { status: 201, body: comment };
  }
}

function repositoryOf(name: string): object {
  return { id: 2, name, full_name: `boats/${name}`, owner: OWNER };
}
