/** A server that speaks as much of GitHub's REST interface as the channel uses, and posts events as GitHub does: once, signed. */
import { createHmac } from "node:crypto";
import { LocalService, type Call, type Reply } from "./local-service.ts";

const OWN = { id: 9_001, login: "crab-bot", type: "User" };
const OWNER = { id: 1, login: "boats", type: "Organization" };

export interface Person {
  id: number;
  login: string;
  type: "User" | "Bot";
}

interface Comment {
  id: number;
  /** `issues/12`, or `reviews/<root comment>`. */
  place: string;
  user: object;
  body: string;
}

export interface EventDetails {
  repo?: string;
  number?: number;
  /** Of a comment in the files of a pull request: the comment that it answers. */
  review?: number;
  /** The text is that of the issue itself. */
  isOpening?: boolean;
  id?: number;
  action?: string;
  createdAt?: Date;
}

export class GitHubApi extends LocalService {
  static readonly token = "github_pat_test";
  static readonly secret = "a secret of the repository's webhook";
  readonly comments: Comment[] = [];
  /** The answer of the next request that posts a comment. */
  failure: Reply | undefined;
  /** Cuts the connection of the next comment, after it has been taken. */
  losesAnswer = false;
  /** Where events are posted. */
  hook: (headers: Record<string, string>, body: string) => Promise<number> = () => Promise.resolve(503);
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
    const { event, payload } = this.eventOf(user, text, how);
    const body = JSON.stringify(payload);
    return this.hook(GitHubApi.signed(event, body), body);
  }

  eventOf(
    user: Person,
    text: string,
    { repo = "harbour", number = 12, review, isOpening = false, id, action, createdAt }: EventDetails,
  ): { event: string; payload: object } {
    const at = (createdAt ?? new Date()).toISOString();
    const comment = { id: id ?? this.#next++, user, body: text, created_at: at, updated_at: at };
    const repository = { id: 2, name: repo, full_name: `boats/${repo}`, owner: OWNER };
    const subject = { id: 77, number, title: "The keel leaks", user, body: text, created_at: at };
    const shared = { repository, sender: user };
    if (isOpening)
      return { event: "issues", payload: { action: action ?? "opened", issue: subject, ...shared } };
    if (review !== undefined) {
      const line = { ...comment, in_reply_to_id: review, path: "keel.c", diff_hunk: "@@", commit_id: "c" };
      const payload = { action: action ?? "created", comment: line, pull_request: subject, ...shared };
      return { event: "pull_request_review_comment", payload };
    }
    return {
      event: "issue_comment",
      payload: { action: action ?? "created", comment, issue: subject, ...shared },
    };
  }

  /** Comments of the bot at a place, as people see them. */
  got(place: string): string[] {
    return this.comments
      .filter((each) => each.place === place)
      .map(({ body }) => body.replaceAll(/<!--[^]*?-->/g, "").trim());
  }

  protected override answer({ method, path, headers, body }: Call): Reply {
    if (headers.authorization !== `token ${GitHubApi.token}`)
      return { status: 401, body: { message: "Bad credentials" } };
    const [route = ""] = path.split("?");
    if (route === "/user") return { status: 200, body: OWN };
    const at =
      /^\/repos\/boats\/(\w+)\/(issues|pulls)\/(\d+)\/comments(?:\/(\d+)\/replies)?$/.exec(route) ?? [];
    const [, , kind, number = "", review] = at;
    if (kind === undefined) return { status: 404, body: { message: "Not Found" } };
    if (method === "GET") return { status: 200, body: this.#listed(kind, number) };
    if (this.failure) {
      const { failure } = this;
      this.failure = undefined;
      return failure;
    }
    const place = review === undefined ? `issues/${number}` : `reviews/${review}`;
    const { body: text } = JSON.parse(body.toString()) as { body: string };
    const comment = { id: this.#next++, place, user: OWN, body: text };
    this.comments.push(comment);
    if (this.losesAnswer) {
      this.losesAnswer = false;
      this.cut();
    }
    return { status: 201, body: comment };
  }

  #listed(kind: string, number: string): Comment[] {
    return this.comments.filter(({ place }) =>
      kind === "issues" ? place === `issues/${number}` : place.startsWith("reviews/"),
    );
  }
}
