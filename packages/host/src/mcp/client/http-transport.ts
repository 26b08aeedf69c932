/** MCP over HTTP, with bounds on what a server may send. */
import type * as Mcp from "@modelcontextprotocol/client";
import { PagurusError } from "@pagurus/contract/errors";
import type { HttpSettings } from "./mcp-settings.ts";
import { defined } from "@pagurus/core/data/defined";

/** Limit of one answer; a stream of events may continue beyond it, in pieces. */
const BODY_BYTES = 32 * 1024 * 1024;
const STREAM_BYTES = 256 * 1024 * 1024;

/** The same response, which fails once it exceeds the limit. */
function bounded(response: Response): Response {
  const { body, headers } = response;
  if (!body) return response;
  const isStream = headers.get("content-type")?.includes("text/event-stream") === true;
  const most = isStream ? STREAM_BYTES : BODY_BYTES;
  let bytes = 0;
  const counted = body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.byteLength;
        if (bytes > most) controller.error(new Error(`an answer has more than ${most} bytes`));
        else controller.enqueue(chunk);
      },
    }),
  );
  return new Response(counted, { status: response.status, statusText: response.statusText, headers });
}

/** Refuses redirects: headers hold credentials and the body holds the model's text; both are for the configured address alone. */
async function fetchThere(input: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, { ...init, redirect: "manual" });
  const { status, headers } = response;
  if (status < 300 || status > 399 || status === 304) return bounded(response);
  await response.body?.cancel();
  const location = headers.get("location");
  const to =
    location !== null && URL.canParse(location, String(input))
      ? ` to ${new URL(location, input).origin}`
      : "";
  throw new PagurusError(
    "mcp_failed",
    `the server redirects${to} (HTTP ${status}), and a redirect is not followed; correct its url`,
  );
}

/**
 * Requests to a server with its configured headers, which go to its own origin alone: a login also asks the authorization server that
 * the MCP server names. `forLogin` leaves out `Authorization`, which would spoil requests for tokens at the same origin.
 */
export function serverFetch(
  { url, headers }: HttpSettings,
  { forLogin = false, signal }: { forLogin?: boolean; signal?: AbortSignal } = {},
): Mcp.FetchLike {
  return async (input, init) => {
    const sent = new Headers(init?.headers);
    if (new URL(input).origin === url.origin)
      for (const [name, value] of Object.entries(headers))
        if (!sent.has(name) && !(forLogin && /^authorization$/i.test(name))) sent.set(name, value);
    const either = [init?.signal, signal].filter((each) => each !== undefined && each !== null);
    return await fetchThere(input, {
      ...init,
      headers: sent,
      ...(either.length > 0 ? { signal: AbortSignal.any(either) } : {}),
    });
  };
}

/** `login`: sends the token of a stored login, in place of a configured `Authorization`. */
export function httpTransport(
  library: typeof Mcp,
  settings: HttpSettings,
  login: Mcp.AuthProvider | undefined,
): Mcp.Transport {
  const { kind, url } = settings;
  const options = { fetch: serverFetch(settings), ...defined({ authProvider: login }) };
  if (kind === "sse") return new library.SSEClientTransport(url, options);
  return new library.StreamableHTTPClientTransport(url, options);
}
