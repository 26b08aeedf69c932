/**
 * GitHub, by its webhooks and its REST interface: comments are posted, signed, to `/hooks/<channel>` of the server, and answers are comments.
 * GitHub posts an event once. A comment of ours has its id in a hidden line, by which it is looked up before it is sent again.
 */
import { GitHubAdapter } from "@chat-adapter/github";
import type { ChannelConfig } from "../../config/config-types.ts";
import type {
  Channel,
  ChannelCapabilities,
  IncomingMessage,
  OutgoingMessage,
} from "../../contract/channel/channel.ts";
import { isRecord, recordOf } from "../../data/record-fields.ts";
import { channelFailure, channelRefusal } from "../channel-failure.ts";
import type { WebhookAnswer, WebhookRoutes } from "../webhook/webhook-routes.ts";
import { reasonOf, type ChatConnection, type ChatService } from "./chat-connection.ts";
import { silent } from "./chat-failure.ts";
import { addressOf, secretOf, type Env } from "./chat-settings.ts";
import { mentions, withoutAddress, withoutMentions, writtenIn } from "./github-event.ts";
import { openHookConnection, type Hook, type HookHost } from "./hook-connection.ts";

/** Longest text of one comment, characters: GitHub takes 65,536, with the hidden line and marks. */
const MOST_CHARS = 50_000;
/** An absence in which events may have been posted, ms: longer than the interval at which the time is kept. */
const ABSENT_MS = 2 * 60_000;
/** How far GitHub's clock may be from ours, ms. */
const CLOCK_MS = 10 * 60_000;
const MOST_COMMENTS = 100;
/** Statuses that a repeat does not change. */
const REFUSALS: readonly unknown[] = [403, 404, 410, 422];

interface Account {
  id: number;
  login: string;
}

/** The adapter's requests, its parser and its check of signatures, without its queue. */
class GitHubApi extends GitHubAdapter {
  constructor(url: string, token: string, webhookSecret: string) {
    // What is not named here would come from the environment.
    super({ apiUrl: url, token, webhookSecret, userName: "pagurus", botUserId: 0, logger: silent });
    // Its client writes each failed request to the standard error.
    this.octokit.log.warn = () => undefined;
    this.octokit.log.error = () => undefined;
  }

  /** Throws GitHub's error for a wrong token or a service that is not there. */
  async login(): Promise<Account> {
    const { data } = await this.octokit.users.getAuthenticated();
    return { id: data.id, login: data.login };
  }

  isSigned({ headers, body }: Hook): boolean {
    const signature = headers["x-hub-signature-256"];
    return typeof signature === "string" && this.verifySignature(body.toString("utf8"), signature);
  }

  /** Id of a comment of an account with a text in it, written since a time; undefined where there is none. */
  async find(
    thread: string,
    { text, author, since }: { text: string; author: number; since: number },
  ): Promise<string | undefined> {
    const { owner, repo, prNumber, reviewCommentId } = this.decodeThreadId(thread);
    const where = { owner, repo, since: new Date(since).toISOString(), per_page: MOST_COMMENTS };
    const { data } =
      reviewCommentId === undefined
        ? await this.octokit.issues.listComments({ ...where, issue_number: prNumber })
        : await this.octokit.pulls.listReviewComments({ ...where, pull_number: prNumber });
    const comments: readonly { id: number; body?: string; user: { id: number } | null }[] = data;
    const found = comments.find(({ body, user }) => user?.id === author && body?.includes(text) === true);
    return found && String(found.id);
  }
}

/** Throws `config_invalid`, `credential_missing`. `routes` is absent where no server runs: nothing is received then. */
export function createGitHubChannel(
  id: string,
  config: ChannelConfig,
  env: Env,
  routes?: WebhookRoutes,
): Channel {
  const token = secretOf(id, config, "token", env);
  const secret = secretOf(id, config, "secret", env);
  const api = new GitHubApi(addressOf(id, config, "https://api.github.com"), token, secret);
  return {
    id,
    kind: "github",
    maxChars: MOST_CHARS,
    connect: (port, signal) => connect(id, api, { port, signal, routes }),
  };
}

async function connect(id: string, api: GitHubApi, host: HookHost): Promise<ChatConnection> {
  let account: Account;
  try {
    account = await api.login();
  } catch (error) {
    throw channelFailure(id, "cannot log in at GitHub", error);
  }
  return openHookConnection(
    {
      service: new GitHub(id, api, account),
      keptMs: ABSENT_MS,
      lost: "GitHub posts a comment once, so those of that time did not arrive",
      take: (connection, hook) => take(api, account, connection, hook),
    },
    host,
  );
}

async function take(
  api: GitHubApi,
  account: Account,
  connection: ChatConnection,
  hook: Hook,
): Promise<WebhookAnswer> {
  if (!api.isSigned(hook)) return 401;
  let payload: unknown;
  try {
    payload = JSON.parse(hook.body.toString("utf8"));
  } catch {
    return 400;
  }
  if (!isRecord(payload)) return 400;
  const message = messageOf(api, account, String(hook.headers["x-github-event"]), payload);
  if (!message) return 200;
  return connection.receive(message).then(
    () => 202,
    () => 503,
  );
}

function messageOf(
  api: GitHubApi,
  { id: own, login }: Account,
  event: string,
  payload: Record<string, unknown>,
): IncomingMessage | undefined {
  const written = writtenIn(event, payload);
  if (!written) return undefined;
  const { author, threadId } = api.parseMessage(written.raw);
  if (author.userId === String(own)) return undefined;
  const { id, repository, number, title, body } = written;
  return {
    id,
    from: author.userId,
    name: author.userName,
    group: repository,
    isMention: mentions(body, login),
    thread: String(number),
    reply: threadId,
    subject: title,
    text: withoutAddress(body, login),
  };
}

class GitHub implements ChatService {
  readonly id: string;
  readonly capabilities: ChannelCapabilities = {
    inbound: "at-most-once",
    outbound: "at-least-once",
    maxChars: MOST_CHARS,
  };
  readonly #api: GitHubApi;
  readonly #account: Account;

  constructor(id: string, api: GitHubApi, account: Account) {
    this.id = id;
    this.#api = api;
    this.#account = account;
  }

  post({ id, text, reply }: OutgoingMessage): Promise<string> {
    return this.#request(async () => {
      if (reply === undefined) throw channelRefusal(this.id, "GitHub has no direct messages");
      const raw = `${withoutMentions(text)}\n\n${hidden(id)}`;
      return (await this.#api.postMessage(reply, { raw })).id;
    });
  }

  find({ id, reply, createdAt }: OutgoingMessage): Promise<string | undefined> {
    return this.#request(async () => {
      if (reply === undefined) return undefined;
      const since = createdAt - CLOCK_MS;
      return this.#api.find(reply, { text: hidden(id), author: this.#account.id, since });
    });
  }

  /** Throws `channel_refused`, and GitHub's errors; one of its limits names how long to wait. */
  async #request<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const { status, response } = error as { status?: unknown; response?: { headers?: unknown } };
      const headers = recordOf(response?.headers);
      const wait = Number(headers["retry-after"] ?? Number.NaN);
      if (status === 429 || Number.isFinite(wait) || headers["x-ratelimit-remaining"] === "0")
        throw Object.assign(new Error(reasonOf(error)), {
          code: "RATE_LIMITED",
          ...(Number.isFinite(wait) && { retryAfter: wait }),
        });
      throw REFUSALS.includes(status) ? channelRefusal(this.id, reasonOf(error)) : error;
    }
  }
}

/** A line that GitHub does not show. */
function hidden(id: string): string {
  return `<!-- pagurus ${id} -->`;
}
