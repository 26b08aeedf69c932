/** Answers to requests that cannot be parsed as HTTP. */
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { WireFault } from "../dialect/wire-dialect.ts";
import type { FaultMaker } from "./faults.ts";

interface Refusal {
  status: number;
  fault: WireFault;
  message: string;
}

function refusalOf(code: string | undefined): Refusal {
  if (code === "HPE_HEADER_OVERFLOW")
    return { status: 431, fault: "too_large", message: "The request's headers are too long; send fewer." };
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return { status: 408, fault: "bad_request", message: "The request's head did not come in time." };
  return { status: 400, fault: "bad_request", message: "The request is not valid HTTP." };
}

/** Writes an answer to a connection without a request, and closes it; the client has `lingerMs` to read it. */
export function refuse(
  socket: Socket,
  error: Error & { code?: string },
  options: { fault: FaultMaker; lingerMs: number },
): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const { status, fault, message } = refusalOf(error.code);
  // The path is unknown: nothing of the request is trusted.
  const { headers, body } = options.fault("/", fault, message);
  const lines = Object.entries({ ...headers, "content-length": body.length, connection: "close" }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n`, "latin1");
  socket.end(body);
  const timer = setTimeout(() => socket.destroy(), options.lingerMs);
  socket.once("close", () => clearTimeout(timer));
  return undefined;
}
