/**
 * The APIs that clients of model providers speak: Chat Completions, Responses and Messages, for models of the catalog. The
 * client's tools are its own; what the model sees is decided by the engine, in a session that is found by content.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { PagurusConfig } from "../config/config-types.ts";
import { PagurusError, toPagurusError } from "../contract/errors.ts";
import type { WireApi } from "../contract/harness/wire.ts";
import type { Pagurus } from "../contract/host/host.ts";
import { IdSource } from "../platform/ids.ts";
import type { Logger } from "../platform/log.ts";
import { resolveModel } from "../model/resolve.ts";
import { dialectOf } from "../gateway/dialect/dialects.ts";
import type { Dialect, WireRequest } from "../gateway/dialect/wire-dialect.ts";
import { addressOf } from "../gateway/server/admit-request.ts";
import { parsePart, wholeMembers } from "../gateway/json/scan.ts";
import { ServerCall } from "../gateway/server/gateway-call.ts";
import { WIRE_LIMITS } from "../gateway/server/limits.ts";
import { directAgents } from "../gateway/upstream/direct-agents.ts";
import { historyMessages, liveMessages } from "../gateway/wrap/request-messages.ts";
import { WrapHarness } from "../gateway/wrap/wrap-harness.ts";
import { ConversationMatch } from "./conversation-match.ts";
import { GovernedSession, type GovernedOptions } from "./governed-session.ts";

export interface ModelApiCaller {
  tokenId: string;
  /** Pattern of session keys that the caller may use. */
  sessions: string;
  allowsSession(key: string): boolean;
}

export interface ModelApiOptions {
  pagurus: Pagurus;
  /** The runtime of its sessions, which the host was opened with. */
  harness: WrapHarness;
  config: PagurusConfig;
  env: Readonly<Record<string, string | undefined>>;
  logger: Logger;
  agentId: string;
  cwd: string;
}

const APIS: Readonly<Record<string, WireApi>> = {
  "/chat/completions": "openai-completions",
  "/responses": "openai-responses",
  "/responses/compact": "openai-responses",
  "/messages": "anthropic-messages",
  "/messages/count_tokens": "anthropic-messages",
};
const SESSION_HEADER = "x-pagurus-session";
/** Headers with the caller's token, which no provider gets. */
const SECRETS: ReadonlySet<string> = new Set([
  "authorization",
  "x-api-key",
  "x-goog-api-key",
  "cookie",
  SESSION_HEADER,
]);
/** Open sessions without a request for this long are closed, ms. */
const IDLE_MS = 10 * 60_000;
const CHECK_MS = 60_000;

/** The runtime of sessions whose client runs the loop. */
export function modelApiHarness(): WrapHarness {
  return new WrapHarness("api", "A client of the model API");
}

export class ModelApi {
  readonly #options: ModelApiOptions;
  readonly #governed: GovernedOptions;
  readonly #match: ConversationMatch;
  readonly #ids = new IdSource();
  readonly #open = new Map<string, GovernedSession>();
  /** Ends when the session of the newest request is known: two requests at once must not begin the same one. */
  readonly #matching = new Map<string, Promise<unknown>>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: ModelApiOptions) {
    this.#options = options;
    const { pagurus, harness, logger, agentId, cwd, config, env } = options;
    const resolve = (ref: string): ReturnType<typeof resolveModel> => resolveModel(ref, config, env);
    this.#governed = { pagurus, harness, logger, agentId, cwd, agents: directAgents(), resolve };
    this.#match = new ConversationMatch(() => pagurus.sessions(agentId));
    this.#timer = setInterval(() => void this.#closeIdle(), CHECK_MS);
    this.#timer.unref();
  }

  handles(path: string): boolean {
    return path.startsWith("/v1/");
  }

  /** Authentication and limits were checked before. Never throws. */
  async serve(request: IncomingMessage, response: ServerResponse, caller: ModelApiCaller): Promise<void> {
    const { path, query } = addressOf(request.url ?? "");
    if (request.method === "GET" && path === "/models") return this.#models(response);
    const api = APIS[path];
    const dialect = await dialectOf(api ?? "openai-responses");
    const call = new ServerCall(request, response, { limits: WIRE_LIMITS, waits: false });
    try {
      if (api === undefined || request.method !== "POST") throw unknownPath(request.method ?? "", path);
      const headers = withoutSecrets(request);
      const target = { path, query, ...headers };
      const read = dialect.read(path, headers.headers, await call.body());
      if (!read)
        throw new PagurusError(
          "usage_invalid",
          "The request is not one of this API; send its model and messages as JSON.",
        );
      if (api === "openai-responses") checkFields(read.body);
      this.#governed.resolve(read.model);
      // A count of tokens belongs to no conversation.
      const session =
        read.kind === "main" || read.kind === "compaction"
          ? await this.#sessionFor(read, { api, dialect, caller, request })
          : new GovernedSession("api-counts", dialect, api, this.#governed);
      await session.handle(call.as(session.nextCall(), target));
    } catch (error) {
      const { code, message } = toPagurusError(error);
      this.#options.logger.debug("model API request refused", { code });
      call.reply(dialect.fault(code === "token_invalid" ? "unauthorized" : "bad_request", message));
    }
    return undefined;
  }

  #models(response: ServerResponse): void {
    const { providers = {} } = this.#options.config.models ?? {};
    const data = Object.entries(providers).flatMap(([provider, { models = [] }]) =>
      models.map(({ id }) => ({ id: `${provider}/${id}`, object: "model", created: 0, owned_by: provider })),
    );
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ object: "list", data }));
  }

  async #sessionFor(
    read: WireRequest,
    about: { api: WireApi; dialect: Dialect; caller: ModelApiCaller; request: IncomingMessage },
  ): Promise<GovernedSession> {
    const { tokenId } = about.caller;
    const before = this.#matching.get(tokenId) ?? Promise.resolve();
    const found = before.catch(() => undefined).then(() => this.#found(read, about));
    this.#matching.set(tokenId, found);
    return found;
  }

  async #found(
    read: WireRequest,
    {
      api,
      dialect,
      caller,
      request,
    }: { api: WireApi; dialect: Dialect; caller: ModelApiCaller; request: IncomingMessage },
  ): Promise<GovernedSession> {
    const named = request.headers[SESSION_HEADER];
    const sessionKey = typeof named === "string" && named !== "" ? named : await this.#keyFor(read, caller);
    if (!caller.allowsSession(sessionKey))
      throw new PagurusError(
        "token_invalid",
        `The token may not use the session ${JSON.stringify(sessionKey)}.`,
      );
    const open = this.#open.get(sessionKey);
    if (open?.api === api) return open;
    this.#open.delete(sessionKey);
    await open?.close();
    const made = new GovernedSession(sessionKey, dialect, api, this.#governed);
    this.#open.set(sessionKey, made);
    return made;
  }

  async #keyFor(read: WireRequest, caller: ModelApiCaller): Promise<string> {
    const mark = `api-${caller.tokenId}-`;
    const match = await this.#match.find(
      { history: historyMessages(read), live: liveMessages(read) },
      {
        isOwn: (key) => key.includes(mark) && caller.allowsSession(key),
        isAnswering: (key) => this.#open.get(key)?.isAnswering === true,
      },
    );
    if (match.how === "continue") return match.sessionKey;
    const key = newKey(caller.sessions, `${mark}${this.#ids.next()}`);
    if (match.how === "fork") {
      // Its open turn ends first, so that what is copied is final.
      const open = this.#open.get(match.sessionKey);
      if (open && !open.isAnswering) {
        this.#open.delete(match.sessionKey);
        await open.close();
      }
      this.#options.pagurus
        .sessions(this.#options.agentId)
        .fork(match.sessionKey, key, { entryId: match.entryId });
    }
    return key;
  }

  async #closeIdle(): Promise<void> {
    for (const [key, session] of this.#open)
      if (!session.isAnswering && performance.now() - session.lastUsed > IDLE_MS) {
        this.#open.delete(key);
        await session.close();
      }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([...this.#open.values()].map((session) => session.close()));
    this.#governed.agents.close();
  }
}

/** A key that fits the token's pattern. */
function newKey(pattern: string, name: string): string {
  return pattern === "*" ? name : pattern.replace("*", name).replaceAll("*", "");
}

function withoutSecrets({ rawHeaders, headers }: IncomingMessage): {
  headers: IncomingMessage["headers"];
  rawHeaders: string[];
} {
  const kept = Object.entries(headers).filter(([name]) => !SECRETS.has(name));
  const raw: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    if (!SECRETS.has((rawHeaders[at] ?? "").toLowerCase()))
      raw.push(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  return { headers: Object.fromEntries(kept), rawHeaders: raw };
}

/** Fields of the Responses API that refer to stored answers. */
const REFUSED = ["previous_response_id", "conversation", "background"] as const;

/** Throws `usage_invalid` for a field that is not honoured. */
function checkFields(body: Buffer): void {
  const members = wholeMembers(body);
  for (const name of REFUSED) {
    const span = members.get(name);
    const value = span ? parsePart(body, span) : undefined;
    if (value === undefined || value === null || value === false) continue;
    throw new PagurusError(
      "usage_invalid",
      `The field ${name} is not supported here; send the whole conversation as input, and its session is found by its content.`,
    );
  }
}

function unknownPath(method: string, path: string): PagurusError {
  return new PagurusError(
    "usage_invalid",
    `There is no ${method} /v1${path} here; there are GET /v1/models and POST ${Object.keys(APIS)
      .map((each) => `/v1${each}`)
      .join(", ")}.`,
  );
}
