/** One route of our API: its schemas validate the request and make the OpenAPI document. */
import type { ServerResponse } from "node:http";
import * as z from "zod";
import type { Scope } from "@pagurus/contract/host/authority";
import type { Caller } from "../access/caller.ts";
import type { CallerParts } from "../caller/caller-parts.ts";
import { defined } from "@pagurus/core/data/defined";

/** A validated request. */
export interface ApiCall<Params, Query, Body> {
  params: Params;
  query: Query;
  body: Body;
  caller: Caller;
  /** As the caller may use them. */
  parts: CallerParts;
  /** A header's value, by its lower-case name. */
  header(name: string): string | undefined;
  /** Fires when the client disconnects, or its token ends. */
  signal: AbortSignal;
}

export type ApiAnswer<Body = unknown> =
  | { status?: number; body: Body; workId?: string }
  /** Bytes of a known type, such as an export. */
  | { contentType: string; chunks: AsyncIterable<Uint8Array> }
  /** Writes the answer itself. False where nothing was sent, as the caller has too many streams. */
  | { stream: (out: ServerResponse) => Promise<boolean> };

/** A route whose types are checked where it is made, and erased for the table. */
export interface ApiRoute {
  method: "get" | "post" | "delete";
  /** As in OpenAPI: `/sessions/{key}`; below `/api/v1`. */
  path: string;
  summary: string;
  scope: Scope;
  params: z.ZodObject;
  query: z.ZodObject;
  /** Absent for a request without a body. */
  body?: z.ZodType;
  answer: z.ZodType;
  /** Content type of the answer; JSON by default. */
  answerType?: "application/json" | "text/event-stream" | "application/octet-stream";
  status: number;
  handle(call: ApiCall<never, never, never>): Promise<ApiAnswer> | ApiAnswer;
}

type ShapeOf<S extends z.ZodRawShape> = z.infer<z.ZodObject<S>>;

interface RouteDefinition<
  P extends z.ZodRawShape,
  Q extends z.ZodRawShape,
  B extends z.ZodType,
  A extends z.ZodType,
> extends Pick<ApiRoute, "method" | "path" | "summary" | "scope" | "answerType"> {
  params?: P;
  query?: Q;
  body?: B;
  answer: A;
  status?: number;
  handle(
    call: ApiCall<ShapeOf<P>, ShapeOf<Q>, z.infer<B>>,
  ): Promise<ApiAnswer<z.input<A>>> | ApiAnswer<z.input<A>>;
}

export function route<
  P extends z.ZodRawShape = Record<never, never>,
  Q extends z.ZodRawShape = Record<never, never>,
  B extends z.ZodType = z.ZodUndefined,
  A extends z.ZodType = z.ZodType,
>(definition: RouteDefinition<P, Q, B, A>): ApiRoute {
  const { params, query, body, status = 200, ...rest } = definition;
  return {
    ...rest,
    params: z.object(params ?? {}),
    query: z.strictObject(query ?? {}),
    ...defined({ body }),
    status,
    handle: definition.handle as ApiRoute["handle"],
  };
}

/** Parameters and options that several routes share. */
export const SESSION = { key: z.string().min(1).describe("Key of the session, URL-encoded.") };
export const AGENT = {
  agent: z.string().min(1).default("main").describe("Agent of the configuration."),
};
export const CWD = {
  cwd: z
    .string()
    .min(1)
    .optional()
    .describe("Absolute folder; default: the session's, else the agent's workspace."),
};
export const PAGE = {
  limit: z.coerce.number().int().min(1).max(1_000).default(100).describe("Maximum number of results."),
};
