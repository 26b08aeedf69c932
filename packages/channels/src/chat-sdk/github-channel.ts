/**
 * GitHub, by its webhooks and its REST interface: comments are posted, signed, to `/hooks/<channel>` of the server, and answers are comments.
 * GitHub posts an event once; what does not arrive so is found in the lists of the repositories. A comment of ours has its id in a hidden line,
 * by which it is looked up before it is sent again.
 */
import { SYSTEM_CLOCK, type Clock } from "@pagurus/core/data/clock";
import type { ChannelParts } from "../channel-parts.ts";
import { randomUUID } from "node:crypto";
import type { ChannelConfig } from "@pagurus/core/config/config-types";
import type {
  Channel,
  ChannelCapabilities,
  IncomingMessage,
  OutgoingMessage,
} from "@pagurus/contract/channel/channel";
import { isRecord, recordOf } from "@pagurus/core/data/record-fields";
import { channelFailure, channelRefusal } from "../channel-failure.ts";
import type { WebhookAnswer } from "../webhook/webhook-routes.ts";
import { errorText } from "@pagurus/core/data/error-text";
import type { ChatConnection, ChatService } from "./chat-connection.ts";
import { addressOf, secretOf, type Env } from "./chat-settings.ts";
import { GitHubCatchUp } from "./github-catch-up.ts";
import {
  CLOCK_SLACK_MS,
  mentions,
  OLDEST_MS,
  withoutAddress,
  withoutMentions,
  writtenIn,
  type WrittenText,
} from "./github-event.ts";
import { asLimit, isRefusal, GitHubRequests, type Account } from "./github-requests.ts";
import { openHookConnection, type Hook, type HookHost } from "./hook-connection.ts";

/** Longest text of one comment, characters: GitHub takes 65,536, with the hidden line and marks. */
const MOST_CHARS = 50_000;
/** Time between two looks for what no webhook has brought, s. */
const POLL_S = 60;

/** Throws `config_invalid`, `credential_missing`. */
export function createGitHubChannel(
  id: string,
  config: ChannelConfig,
  env: Env,
  { webhooks: routes, clock = SYSTEM_CLOCK }: ChannelParts = {},
): Channel {
  const token = secretOf(id, config, "token", env);
  const isPosted = config.secret !== undefined;
  const secret = isPosted ? secretOf(id, config, "secret", env) : randomUUID();
  const api = new GitHubRequests(addressOf(id, config, "https://api.github.com"), token, secret);
  const repositories = Object.keys(config.groups ?? {});
  const everyMs = (config.pollSeconds ?? POLL_S) * 1_000;
  return {
    id,
    kind: "github",
    maxChars: MOST_CHARS,
    connect: (port, signal) =>
      connect(id, api, { port, signal, routes, isPosted, repositories, everyMs, clock }),
  };
}

interface Host extends HookHost {
  /** Whether a webhook posts events. */
  isPosted: boolean;
  repositories: readonly string[];
  everyMs: number;
  clock: Clock;
}

async function connect(id: string, api: GitHubRequests, host: Host): Promise<ChatConnection> {
  const { port, signal, routes, isPosted, repositories, everyMs, clock } = host;
  let opened: ChatConnection | undefined;
  let step = "cannot log in at GitHub";
  try {
    const account = await api.login();
    step = "cannot read what was written";
    const catchUp = new GitHubCatchUp({
      api,
      account,
      repositories,
      everyMs,
      clock,
      messageOf: (written) => messageOf(api, account, written),
      missed: (sentence) => port.missed(sentence),
    });
    const connection = await openHookConnection(
      {
        service: new GitHub({ id, clock }, api, account),
        keptMs: OLDEST_MS,
        lost: "what was written more than 7 days ago is not answered",
        take: (on, hook) => (isPosted ? take(api, account, on, hook) : Promise.resolve(401)),
        catchUp: async (on) => {
          opened = on;
          await catchUp.begin(on);
        },
      },
      { port, signal, routes },
    );
    if (routes) void catchUp.follow(connection);
    else await catchUp.check(true);
    return connection;
  } catch (error) {
    opened?.end(errorText(error));
    throw channelFailure(id, step, error);
  }
}

async function take(
  api: GitHubRequests,
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
  const written = writtenIn(String(hook.headers["x-github-event"]), payload);
  if (!written || recordOf(written.raw.comment.user)["id"] === account.id) return 200;
  return connection.receive(messageOf(api, account, written), undefined, written.writtenAt).then(
    () => 202,
    () => 503,
  );
}

function messageOf(api: GitHubRequests, { login }: Account, written: WrittenText): IncomingMessage {
  const { author, threadId } = api.parseMessage(written.raw);
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
    inbound: "exactly-once",
    outbound: "at-least-once",
    maxChars: MOST_CHARS,
  };
  readonly clock: Clock;
  readonly #api: GitHubRequests;
  readonly #account: Account;

  constructor({ id, clock }: { id: string; clock: Clock }, api: GitHubRequests, account: Account) {
    this.id = id;
    this.clock = clock;
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
      const since = createdAt - CLOCK_SLACK_MS;
      return this.#api.find(reply, { text: hidden(id), author: this.#account.id, since });
    });
  }

  /** Throws `channel_refused`, and GitHub's errors; one of its limits names how long to wait. */
  async #request<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw isRefusal(error) ? channelRefusal(this.id, errorText(error)) : asLimit(error);
    }
  }
}

/** A line that GitHub does not show. */
function hidden(id: string): string {
  return `<!-- pagurus ${id} -->`;
}
