/** Requests near those that clients send: for each operation of the served OpenAPI document, each protocol of /v1, and ACP. */
import fc from "fast-check";
import { changed, change, mutated, odd, type Change } from "../model-api/mutations.ts";

export interface FuzzRequest {
  /** `socket`: `body` is one message over a WebSocket to `path`; `stdio`: a message to `pagurus acp`. */
  how: "http" | "socket" | "stdio";
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
}

interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  additionalProperties?: Schema | boolean;
}

interface Operation {
  parameters?: { name: string; in: string; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}

export interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
}

const TEXTS = [
  "main",
  "fam-1",
  "test/model",
  "hello",
  "no such",
  "a".repeat(300),
  "\u{1F980}",
  "*",
  "a*b*c*",
];

/** A value of a schema; `pick` chooses among what it allows. */
function valueOf(schema: Schema, pick: (count: number) => number): unknown {
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return valueOf(choices[pick(choices.length)] ?? {}, pick);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[pick(schema.enum.length)];
  const type = Array.isArray(schema.type) ? schema.type[pick(schema.type.length)] : schema.type;
  if (type === "string") return TEXTS[pick(TEXTS.length)];
  if (type === "integer" || type === "number") return [1, 0, -1, 5_000, 2 ** 40][pick(5)];
  if (type === "boolean") return pick(2) === 0;
  if (type === "array") return Array.from({ length: pick(3) }, () => valueOf(schema.items ?? {}, pick));
  if (type === "object" || schema.properties) {
    const { properties = {}, required = [], additionalProperties } = schema;
    const members = Object.entries(properties).filter(([name]) => required.includes(name) || pick(3) === 0);
    const made = Object.fromEntries(members.map(([name, inner]) => [name, valueOf(inner, pick)]));
    if (typeof additionalProperties === "object") made["page"] = valueOf(additionalProperties, pick);
    return made;
  }
  return odd[pick(odd.length)];
}

function apiRequest(
  document: OpenApi,
  [which, choices, changes]: readonly [number, readonly number[], readonly Change[]],
): FuzzRequest {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const { path, method, operation } = operations[which % operations.length] ?? {
    path: "",
    method: "get",
    operation: {},
  };
  let at = 0;
  const pick = (count: number): number => (choices[at++ % choices.length] ?? 0) % Math.max(1, count);
  let filled = path;
  const query = new URLSearchParams();
  for (const { name, in: place, schema } of operation.parameters ?? []) {
    const value = String(pick(4) === 0 ? odd[pick(odd.length)] === Object : valueOf(schema, pick));
    if (place === "path") filled = filled.replace(`{${name}}`, encodeURIComponent(value.toWellFormed()));
    else if (pick(2) === 0) query.append(name, value);
  }
  const schema = operation.requestBody?.content["application/json"]?.schema;
  let body: unknown = schema && valueOf(schema, pick);
  for (const each of schema ? changes : []) body = changed(body, structuredClone(each));
  const base = /^\/(?:api\/)?v1\//.test(filled) ? "" : "/api/v1";
  return {
    how: "http",
    method: method.toUpperCase(),
    path: `${base}${filled}${query.size > 0 ? `?${query.toString()}` : ""}`,
    headers: { "content-type": "application/json", "idempotency-key": String(pick(1_000_000)) },
    body: schema ? (JSON.stringify(body) ?? "") : "",
  };
}

const ACP_MESSAGES: readonly object[] = [
  { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1, clientCapabilities: {} } },
  { jsonrpc: "2.0", id: 2, method: "session/new", params: { cwd: "/", mcpServers: [] } },
  { jsonrpc: "2.0", id: 3, method: "session/list", params: {} },
  { jsonrpc: "2.0", id: 4, method: "session/load", params: { sessionId: "main", cwd: "/", mcpServers: [] } },
  {
    jsonrpc: "2.0",
    id: 5,
    method: "session/prompt",
    params: { sessionId: "main", prompt: [{ type: "text", text: "Hello." }] },
  },
  { jsonrpc: "2.0", id: 6, method: "session/set_mode", params: { sessionId: "main", modeId: "ask" } },
  { jsonrpc: "2.0", method: "session/cancel", params: { sessionId: "main" } },
  { jsonrpc: "2.0", id: 7, result: {} },
];

function acpRequest([which, how, changes]: readonly [
  number,
  FuzzRequest["how"],
  readonly Change[],
]): FuzzRequest {
  let message: unknown = structuredClone(ACP_MESSAGES[which % ACP_MESSAGES.length]);
  for (const each of changes) message = changed(message, structuredClone(each));
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  return {
    how,
    method: "POST",
    path: "/acp",
    headers,
    body: JSON.stringify(message) ?? "",
  };
}

const changes = fc.array(change, { maxLength: 2 });

/** A quarter of each: our API, /v1 twice, ACP. */
export function requests(document: OpenApi): fc.Arbitrary<FuzzRequest> {
  const v1 = mutated.map(({ path, body }): FuzzRequest => ({
    how: "http",
    method: "POST",
    path: `/v1${path}`,
    headers: { "content-type": "application/json" },
    body,
  }));
  const api = fc
    .tuple(fc.nat(10_000), fc.array(fc.nat(1_000_000), { minLength: 8, maxLength: 24 }), changes)
    .map((made) => apiRequest(document, made))
    // A check of a job is a command of a shell, which must not be made at random; streams have no end.
    .filter(
      ({ path, body }) => !(path.includes("/jobs") && body.includes("command")) && !path.includes("/events"),
    );
  const acp = fc.tuple(fc.nat(100), fc.constantFrom("http", "socket", "stdio"), changes).map(acpRequest);
  return fc.oneof(v1, v1, api, acp);
}
