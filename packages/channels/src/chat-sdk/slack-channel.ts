/**
 * Slack, by its Events API: Slack posts signed events to `/hooks/<channel>` of the server, and answers are requests of its Web API. An
 * event gets a yes when the host has written it. Slack repeats one three times within some minutes, so a longer absence loses messages.
 */
import { defined } from "@pagurus/core/data/defined";
import { SYSTEM_CLOCK, type Clock } from "@pagurus/core/data/clock";
import type { ChannelParts } from "../channel-parts.ts";
import {
  callSlackApi,
  postSlackMessage,
  updateSlackMessage,
  type SlackApiOptions,
} from "@chat-adapter/slack/api";
import {
  parseSlackWebhookBody,
  verifySlackSignature,
  type SlackWebhookPayload,
} from "@chat-adapter/slack/webhook";
import type { ChannelConfig } from "@pagurus/core/config/config-types";
import type {
  Channel,
  ChannelCapabilities,
  IncomingMessage,
  OutgoingMessage,
} from "@pagurus/contract/channel/channel";
import { fieldOf } from "@pagurus/core/data/record-fields";
import { channelFailure, channelRefusal } from "../channel-failure.ts";
import type { WebhookAnswer } from "../webhook/webhook-routes.ts";
import { questionOfMessage } from "../asked-questions.ts";
import { errorText } from "@pagurus/core/data/error-text";
import type { ChatConnection, ChatService } from "./chat-connection.ts";
import { limitError } from "./chat-failure.ts";
import type { ChatPlace } from "./chat-place.ts";
import { addressOf, secretOf, type Env } from "./chat-settings.ts";
import { openHookConnection, type Hook, type HookHost } from "./hook-connection.ts";

/** Longest text that Slack shows as one message, characters. */
const MOST_CHARS = 4_000;
/** The last repeat of an event comes so long after it, ms. */
const REPEATED_MS = 5 * 60_000;
/** Status of an answer that only says how long to wait. */
const LIMITED = 429;
/**
 * Errors of the Web API that are not about the message: of the service, of a limit, and of the token, which its owner corrects. Each other
 * one is a refusal, since a repeat does not change it, and the next messages would wait for it.
 */
const FAILURES =
  /^(?:rate_?limited|internal_error|service_unavailable|fatal_error|request_timeout|accesslimited|access_denied|account_inactive|ekm_access_denied|enterprise_is_restricted|invalid_auth|missing_scope|no_permission|not_allowed_token_type|not_authed|org_login_required|team_access_not_granted|team_added_to_org|token_\w+|two_factor_setup_required)$/;

interface Settings {
  id: string;
  secret: string;
  api: SlackApiOptions & { apiUrl: string };
  clock: Clock;
}

/** Throws `config_invalid`, `credential_missing`. */
export function createSlackChannel(
  id: string,
  config: ChannelConfig,
  env: Env,
  { webhooks: routes, clock = SYSTEM_CLOCK }: ChannelParts = {},
): Channel {
  const token = secretOf(id, config, "token", env);
  const apiUrl = `${addressOf(id, config, "https://slack.com/api")}/`;
  const settings = {
    id,
    secret: secretOf(id, config, "secret", env),
    api: { token, apiUrl, fetch: fetchInLimits },
    clock,
  };
  return {
    id,
    kind: "slack",
    maxChars: MOST_CHARS,
    connect: (port, signal) => connect(settings, { port, signal, routes }),
  };
}

/** The adapter drops the header that says how long to wait. Throws the error of a limit. */
async function fetchInLimits(...request: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...request);
  if (response.status !== LIMITED) return response;
  await response.body?.cancel();
  const waitS = Number(response.headers.get("retry-after"));
  throw limitError("Slack takes no more requests for a while", waitS > 0 ? waitS : undefined);
}

async function connect(settings: Settings, host: HookHost): Promise<ChatConnection> {
  const { id, api } = settings;
  let own: string;
  try {
    const { ok, error, user_id: user } = await callSlackApi("auth.test", {}, api);
    if (!ok || typeof user !== "string") throw new Error(error ?? "it has no user");
    own = user;
  } catch (error) {
    throw channelFailure(id, "cannot log in at Slack", error);
  }
  return openHookConnection(
    {
      service: new Slack(settings),
      keptMs: REPEATED_MS,
      lost: "Slack repeats a message for some minutes only, so others did not arrive",
      take: (connection, hook) => take(settings.secret, own, connection, hook),
    },
    host,
  );
}

async function take(
  signingSecret: string,
  own: string,
  connection: ChatConnection,
  { headers, body }: Hook,
): Promise<WebhookAnswer> {
  const text = body.toString("utf8");
  try {
    await verifySlackSignature(text, headers, { signingSecret });
  } catch {
    return 401;
  }
  let payload: SlackWebhookPayload;
  try {
    payload = parseSlackWebhookBody(text, { headers });
  } catch {
    return 400;
  }
  if (payload.kind === "url_verification") return { status: 200, body: { challenge: payload.challenge } };
  const message = messageOf(payload, own, connection.place);
  if (!message) return 200;
  return connection.receive(message).then(
    () => 200,
    () => 503,
  );
}

/** Undefined for what no person wrote to the bot: changes, what bots write, and everything that is no message. */
function messageOf(payload: SlackWebhookPayload, own: string, place: ChatPlace): IncomingMessage | undefined {
  if (payload.kind !== "app_mention" && payload.kind !== "direct_message") return undefined;
  const { channelId, ts, userId: from, raw, files } = payload;
  const { bot_id: bot, subtype } = raw;
  const isChange = subtype !== undefined && subtype !== "file_share";
  if (from === undefined || from === own || bot !== undefined || isChange || channelId === "")
    return undefined;
  const isGroup = payload.kind === "app_mention";
  const note = files?.length ? `\n[with ${files.length} files, which are not fetched from Slack]` : "";
  const text = `${plainText(payload.text, own)}${note}`;
  const thread = typeof raw["thread_ts"] === "string" ? raw["thread_ts"] : undefined;
  // A thread is a reply where a question began it; under any other message it is a conversation.
  const root = thread === undefined ? undefined : place.idOf(`${channelId}:${thread}`);
  const isReply = root !== undefined && questionOfMessage(root) !== undefined;
  return {
    id: `${channelId}:${ts}`,
    from,
    text,
    ...(isGroup && { group: channelId, isMention: true }),
    // In a direct chat only the answer is in the thread: the conversation is that with its person.
    ...(isGroup && thread !== undefined && { thread }),
    ...defined({ reply: thread }),
    ...(isReply && { replyTo: root }),
    writtenAt: Number(ts) * 1_000,
  };
}

/** Without the mention that begins it, and without the escapes of Slack's markup. */
function plainText(text: string, own: string): string {
  const mention = `<@${own}>`;
  const rest = text.trimStart().startsWith(mention)
    ? text.trimStart().slice(mention.length).trimStart()
    : text;
  return rest.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

/** No word of an answer becomes a mention of everyone. */
function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

class Slack implements ChatService {
  readonly id: string;
  readonly capabilities: ChannelCapabilities = {
    inbound: "at-most-once",
    outbound: "at-least-once",
    maxChars: MOST_CHARS,
    edits: true,
  };
  readonly clock: Clock;
  readonly #api: Settings["api"];

  constructor({ id, api, clock }: Settings) {
    this.id = id;
    this.clock = clock;
    this.#api = api;
  }

  async post({ to, text, reply }: OutgoingMessage): Promise<string> {
    const thread = reply === undefined ? {} : { threadTs: reply };
    const posted = await this.#request(() =>
      postSlackMessage({ ...this.#api, ...thread, channel: to, text: escaped(text), unfurlLinks: false }),
    );
    // A message to a person is in a channel that has another id.
    return `${posted.channel ?? to}:${posted.id}`;
  }

  async edit(ref: string, { text }: OutgoingMessage): Promise<void> {
    const [channel = "", ts = ""] = ref.split(":");
    await this.#request(() => updateSlackMessage({ ...this.#api, channel, ts, text: escaped(text) }));
  }

  /** Throws `channel_refused`, and the adapter's errors; one of a limit names how long to wait. */
  async #request<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const code = fieldOf(fieldOf(error, "response"), "error");
      // With a status it is an answer of HTTP, and none of the Web API.
      if (typeof code !== "string" || fieldOf(error, "status") !== undefined) throw error;
      if (!FAILURES.test(code)) throw channelRefusal(this.id, errorText(error));
      throw /^rate_?limited$/.test(code) ? limitError(errorText(error), undefined) : error;
    }
  }
}
