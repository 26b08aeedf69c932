/** An MCP server that asks for a login, and the authorization server that it names, on two ports. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import type { TestContext } from "node:test";

export interface OAuthServers {
  /** Address of the MCP server. */
  url: string;
  issuer: string;
  /** Requests to the authorization server, as `POST /token`, with their headers. */
  asked: { line: string; headers: IncomingMessage["headers"]; body: URLSearchParams }[];
  /** Values of `Authorization` that the MCP server got. */
  tokens: (string | undefined)[];
  /** Scope that the next calls of tools need. */
  needed: string;
  /** Ends all tokens so far. */
  revoke(): void;
  /** Refuses refresh tokens from now on. */
  refuseRefresh(): void;
  /** Answers `authorization_pending` this often to a login by device. */
  pending: number;
  /** Lifetime that the tokens have, seconds. */
  lifetime: number;
}

interface State extends OAuthServers {
  valid: Map<string, string>;
  refreshes: boolean;
  challenge: string;
  scope: string;
  made: number;
}

function json(response: ServerResponse, status: number, value: unknown, headers = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));
}

function giveTokens(state: State, response: ServerResponse, scope: string): void {
  const [token, refresh] = [`access-${++state.made}-abcdef`, `refresh-${state.made}-abcdef`];
  state.valid.set(token, scope);
  json(response, 200, {
    access_token: token,
    refresh_token: refresh,
    token_type: "Bearer",
    expires_in: state.lifetime,
    scope,
  });
}

function token(state: State, body: URLSearchParams, response: ServerResponse): void {
  const grant = body.get("grant_type") ?? "";
  if (grant === "authorization_code") {
    const made = createHash("sha256")
      .update(body.get("code_verifier") ?? "")
      .digest("base64url");
    if (body.get("code") !== "the-code" || made !== state.challenge)
      return json(response, 400, { error: "invalid_grant" });
  }
  if (grant === "refresh_token" && !state.refreshes) return json(response, 400, { error: "invalid_grant" });
  if (grant.endsWith("device_code") && state.pending-- > 0)
    return json(response, 400, { error: "authorization_pending" });
  if (grant === "client_credentials") return giveTokens(state, response, body.get("scope") ?? "tools");
  return giveTokens(state, response, state.scope);
}

function authorizationServer(state: State): Server {
  return createServer((request, response) => {
    void text(request).then((sent) => {
      const url = new URL(request.url ?? "/", state.issuer);
      const body = new URLSearchParams(sent);
      state.asked.push({ line: `${request.method} ${url.pathname}`, headers: request.headers, body });
      if (url.pathname === "/.well-known/oauth-authorization-server")
        return json(response, 200, {
          issuer: state.issuer,
          authorization_endpoint: `${state.issuer}/authorize`,
          token_endpoint: `${state.issuer}/token`,
          registration_endpoint: `${state.issuer}/register`,
          device_authorization_endpoint: `${state.issuer}/device`,
          response_types_supported: ["code"],
          code_challenge_methods_supported: ["S256"],
        });
      if (url.pathname === "/register")
        return json(response, 201, { ...(JSON.parse(sent) as object), client_id: "made-here" });
      if (url.pathname === "/authorize") {
        state.challenge = url.searchParams.get("code_challenge") ?? "";
        state.scope = url.searchParams.get("scope") ?? "";
        const back = new URL(url.searchParams.get("redirect_uri") ?? "");
        back.searchParams.set("code", "the-code");
        back.searchParams.set("state", url.searchParams.get("state") ?? "");
        return response.writeHead(302, { location: back.href }).end();
      }
      if (url.pathname === "/device") {
        state.scope = body.get("scope") ?? "";
        return json(response, 200, {
          device_code: "d-1",
          user_code: "ABCD-EFGH",
          verification_uri: `${state.issuer}/enter`,
          interval: 0,
        });
      }
      if (url.pathname === "/token") return token(state, body, response);
      return json(response, 404, {});
    });
  });
}

const RESULTS: Record<string, (params: Record<string, unknown>) => object> = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "guarded", version: "1" },
  }),
  "tools/list": () => ({ tools: [{ name: "echo", inputSchema: { type: "object" } }] }),
  "tools/call": () => ({ content: [{ type: "text", text: "echoed" }] }),
};

function guarded(state: State): Server {
  return createServer((request, response) => {
    void text(request).then((body) => {
      const { origin } = new URL(state.url);
      const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
      if (
        request.method === "GET" &&
        request.url?.startsWith("/.well-known/oauth-protected-resource") === true
      )
        return json(response, 200, { resource: state.url, authorization_servers: [state.issuer] });
      if (request.method !== "POST" || request.url !== "/mcp") return response.writeHead(405).end();
      const { authorization } = request.headers;
      state.tokens.push(authorization);
      const scopes = state.valid.get(authorization?.replace("Bearer ", "") ?? "");
      if (scopes === undefined)
        return response
          .writeHead(401, { "www-authenticate": `Bearer resource_metadata="${metadata}", scope="tools"` })
          .end();
      const message = JSON.parse(body) as { id?: number; method: string; params?: Record<string, unknown> };
      const { id, method, params = {} } = message;
      if (method === "tools/call" && !scopes.split(" ").includes(state.needed))
        return response
          .writeHead(403, {
            "www-authenticate": `Bearer error="insufficient_scope", scope="${state.needed}"`,
          })
          .end();
      if (id === undefined) return response.writeHead(202).end();
      const result = RESULTS[method]?.(params);
      const missing = { error: { code: -32601, message: "no such method" } };
      return json(response, 200, { jsonrpc: "2.0", id, ...(result ? { result } : missing) });
    });
  });
}

async function listening(t: TestContext, server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

export async function oauthServers(t: TestContext): Promise<OAuthServers> {
  const state: State = {
    url: "",
    issuer: "",
    asked: [],
    tokens: [],
    needed: "tools",
    pending: 0,
    lifetime: 3_600,
    valid: new Map(),
    refreshes: true,
    challenge: "",
    scope: "",
    made: 0,
    revoke: () => state.valid.clear(),
    refuseRefresh: () => {
      state.refreshes = false;
    },
  };
  state.issuer = await listening(t, authorizationServer(state));
  state.url = `${await listening(t, guarded(state))}/mcp`;
  return state;
}
