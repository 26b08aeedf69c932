/** Our API as a Hono application: finds the route, checks scope and session, validates, answers. */
import { getRequestListener } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { Hono, type Context } from "hono";
import type { IncomingMessage, ServerResponse } from "node:http";
import { PagurusError } from "@pagurus/contract/errors";
import { longJson } from "@pagurus/core/platform/json/long-json";
import type { Logger } from "@pagurus/core/platform/log";
import { InspectedSessions } from "../inspect/inspected-sessions.ts";
import { assertSessionKey } from "@pagurus/host/stores/files/keys";
import type { AuditLog } from "../access/audit-log.ts";
import { allowsScope, checkSession } from "@pagurus/core/authority/authority";
import type { Caller } from "../access/caller.ts";
import { RETRY_S } from "../access/in-flight.ts";
import { TOKEN_ENDED } from "../access/open-requests.ts";
import { partsFor, type CallerParts, type SharedParts } from "../caller/caller-parts.ts";
import type { ServerParts } from "../server-parts.ts";
import { faultOf, schemaFault } from "./api-error.ts";
import { checkNames } from "./body-texts.ts";
import { apiRoutes } from "./api-routes.ts";
import { openApiDocument } from "./openapi.ts";
import type { ApiAnswer, ApiCall, ApiRoute } from "./route.ts";

interface NodeBindings {
  incoming: IncomingMessage;
  outgoing: ServerResponse;
}

type ApiContext = Context<{ Bindings: NodeBindings }>;

export interface ApiAppOptions {
  parts: ServerParts;
  audit: AuditLog;
  logger: Logger;
  /** The caller of an admitted request; `ended` fires when its token ends. */
  admitted(request: IncomingMessage): { caller: Caller; ended: AbortSignal };
}

/** The options, and what the API alone works with. */
type ApiOptions = Omit<ApiAppOptions, "parts"> & { parts: SharedParts };

function apiApp(options: ApiOptions): Hono<{ Bindings: NodeBindings }> {
  const app = new Hono<{ Bindings: NodeBindings }>({ strict: false });
  // Made at the first request for it: a start does not need it.
  let document: object | undefined;
  app.get("/api/v1/openapi.json", (c) => {
    document ??= openApiDocument(apiRoutes, options.parts.facts.version);
    return c.json(document);
  });
  for (const route of apiRoutes) {
    const path = `/api/v1${route.path.replaceAll(/\{(\w+)\}/g, ":$1")}`;
    app.on(route.method.toUpperCase(), path, (c) => answered(options, route, c));
  }
  app.notFound((c) => {
    const message = `There is no ${c.req.method} ${c.req.path}; /api/v1/openapi.json lists what there is.`;
    return c.json({ error: { code: "usage_invalid", message } }, 404);
  });
  app.onError((error, c) => {
    const { status, body } = faultOf(error);
    return c.json(body, status as 500);
  });
  return app;
}

/** Answers admitted requests of the API. */
export type ApiListener = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export function apiListener({ parts, ...options }: ApiAppOptions): ApiListener {
  const inspected = new InspectedSessions(() => parts.secrets());
  const app = apiApp({ ...options, parts: { ...parts, inspected } });
  return getRequestListener(app.fetch as Parameters<typeof getRequestListener>[0], {
    overrideGlobalObjects: false,
    autoCleanupIncoming: false,
  });
}

/** Answers at once when the token of the request ends, whatever its route waits for. */
async function answered(options: ApiOptions, route: ApiRoute, c: ApiContext): Promise<Response> {
  const { ended } = options.admitted(c.env.incoming);
  const isEnded = new Promise<void>((resolve) =>
    ended.addEventListener("abort", () => resolve(), { once: true }),
  );
  const cut = isEnded.then(() => {
    // An event stream has written its last event itself.
    if (c.env.outgoing.headersSent) return RESPONSE_ALREADY_SENT;
    return c.json({ error: { code: "token_invalid", message: TOKEN_ENDED } }, 401);
  });
  return Promise.race([handled(options, route, c), cut]);
}

async function handled(options: ApiOptions, route: ApiRoute, c: ApiContext): Promise<Response> {
  const { parts, audit, logger } = options;
  const { caller, ended } = options.admitted(c.env.incoming);
  try {
    checkScope(caller, route);
    const call = await validated(route, c, {
      parts: partsFor(parts, caller),
      bodies: parts.bodies,
      caller,
      ended,
    });
    // The token may have ended while the body came.
    ended.throwIfAborted();
    const answer = await route.handle(call as ApiCall<never, never, never>);
    if (route.method !== "get") {
      const { params, query } = call as { params: { key?: string }; query: { agent?: string } };
      audit.add({
        at: Date.now(),
        tokenId: caller.tokenId,
        action: `${route.method.toUpperCase()} /api/v1${route.path}`,
        agentId: query.agent,
        sessionKey: params.key,
        workId: "workId" in answer ? answer.workId : undefined,
      });
    }
    return await responseOf(route, answer, c);
  } catch (error) {
    const fault = faultOf(error);
    if (fault.status >= 500)
      logger.warn("request of the API failed", { route: route.path, code: fault.body.error.code });
    const headers = fault.status === 503 ? { "retry-after": String(RETRY_S) } : {};
    return c.json(fault.body, fault.status as 500, headers);
  }
}

/** Throws `token_invalid`. */
function checkScope({ scope }: Caller, { scope: needed, method, path }: ApiRoute): void {
  if (allowsScope(scope, needed)) return;
  throw new PagurusError(
    "token_invalid",
    `${method.toUpperCase()} /api/v1${path} needs a token of scope ${needed}, and this one has ${scope}; create another with pagurus token create.`,
  );
}

async function validated(
  route: ApiRoute,
  c: ApiContext,
  {
    parts,
    bodies,
    caller,
    ended,
  }: { parts: CallerParts; bodies: ServerParts["bodies"]; caller: Caller; ended: AbortSignal },
): Promise<ApiCall<object, object, unknown>> {
  const params = route.params.safeParse(c.req.param());
  if (!params.success) throw schemaFault("path", params.error);
  const { key } = params.data as { key?: string };
  if (key !== undefined) {
    checkSession(caller, key);
    assertSessionKey(key);
  }
  const query = route.query.safeParse(c.req.query());
  if (!query.success) throw schemaFault("query", query.error);
  return {
    params: params.data,
    query: query.data,
    body: route.body ? await bodyOf(route, c, bodies) : undefined,
    caller,
    parts,
    header: (name) => c.req.header(name),
    signal: AbortSignal.any([c.req.raw.signal, ended]),
  };
}

async function bodyOf(route: ApiRoute, c: ApiContext, bodies: ServerParts["bodies"]): Promise<unknown> {
  const sent = await bodies.json(c.env.incoming);
  checkNames(sent);
  const body = route.body?.safeParse(sent);
  if (body?.success === false) throw schemaFault("body", body.error);
  return body?.data;
}

async function responseOf(route: ApiRoute, answer: ApiAnswer, c: ApiContext): Promise<Response> {
  if ("body" in answer) {
    const json = await longJson(answer.body as Record<string, unknown>);
    return c.body(json, (answer.status ?? route.status) as 200, { "content-type": "application/json" });
  }
  if ("stream" in answer) {
    if (await answer.stream(c.env.outgoing)) return RESPONSE_ALREADY_SENT;
    const message = "The token has too many streams open; close one.";
    return c.json({ error: { code: "usage_invalid", message } }, 429);
  }
  return c.body(ReadableStream.from(answer.chunks) as ReadableStream, 200, {
    "content-type": answer.contentType,
  });
}
