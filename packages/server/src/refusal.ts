/** Answers to requests that are refused before a route sees them, in the error shape of the API that the client speaks. */
import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

export interface Refusal {
  status: 400 | 401 | 403 | 404 | 413 | 429 | 503;
  code: string;
  message: string;
  headers?: Record<string, string>;
}

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
  503: "overloaded_error",
};

function bodyFor(path: string, { status, code, message }: Refusal): object {
  if (path.startsWith("/v1/messages"))
    return { type: "error", error: { type: ANTHROPIC_TYPES[status] ?? "api_error", message } };
  if (path.startsWith("/v1/"))
    return {
      error: {
        message,
        type: status === 429 ? "rate_limit_error" : "invalid_request_error",
        param: null,
        code,
      },
    };
  return { error: { code, message } };
}

/** Refuses a WebSocket below `/v1`: no path there takes one. */
export function refuseSocket(socket: Duplex, path: string): void {
  const message = `There is no WebSocket at ${path} here, as realtime sessions are not passed on; use requests over HTTP.`;
  const body = JSON.stringify(bodyFor(path, { status: 404, code: "not_found", message }));
  const type = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}`;
  socket.end(`HTTP/1.1 404 Not Found\r\nconnection: close\r\n${type}\r\n\r\n${body}`);
}

/** `path`: of the request, without its query. */
export function refuse(response: ServerResponse, path: string, refusal: Refusal): void {
  const body = JSON.stringify(bodyFor(path, refusal));
  response.writeHead(refusal.status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    ...refusal.headers,
  });
  response.end(body);
}
