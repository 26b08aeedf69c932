/** MCP over HTTP, with bounds on what a server may send. */
import type * as Mcp from "@modelcontextprotocol/client";
import type { HttpSettings } from "./settings.ts";

/** Of one answer; a stream of events may go on longer, in pieces. */
const BODY_BYTES = 32 * 1024 * 1024;
const STREAM_BYTES = 256 * 1024 * 1024;

/** The same response, which fails once it has grown beyond bounds. */
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

export function httpTransport(library: typeof Mcp, { kind, url, headers }: HttpSettings): Mcp.Transport {
  const options = {
    requestInit: { headers },
    fetch: async (input: string | URL, init?: RequestInit) => bounded(await fetch(input, init)),
  };
  if (kind === "sse") return new library.SSEClientTransport(url, options);
  return new library.StreamableHTTPClientTransport(url, options);
}
