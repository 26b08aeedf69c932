/**
 * Posts a request over HTTP and returns its answer as a stream. Not `fetch`: its first use loads 16 MB and costs 60 ms of CPU, which is a
 * seventh of a one-shot run. The modules are taken without `import`, which would read each of their exports and load the same.
 */
import type { IncomingMessage, RequestOptions } from "node:http";
import type { Readable } from "node:stream";

export interface HttpAnswer {
  status: number;
  statusText: string;
  /** With lower-case names. */
  headers: Readonly<Record<string, string>>;
  /** As the server sent them, for a record. */
  rawHeaders: readonly string[];
  /** Decoded. */
  body: Readable;
}

export interface HttpRequest {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/**
 * Follows no redirect. Aborting `signal` closes the connection, also while the body is read. `onSent` is called when the system has the
 * whole request.
 */
export async function postHttp(
  { url, headers, body }: Omit<HttpRequest, "body"> & { body: string | Uint8Array },
  signal: AbortSignal,
  onSent?: () => void,
): Promise<HttpAnswer> {
  signal.throwIfAborted();
  const target = new URL(url);
  const isTls = target.protocol === "https:";
  const { request } = isTls ? process.getBuiltinModule("node:https") : process.getBuiltinModule("node:http");
  const options: RequestOptions = {
    method: "POST",
    headers: { accept: "*/*", "accept-encoding": "gzip, deflate, br", ...headers },
    signal,
  };
  const message = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(target, options, resolve);
    sent.on("error", reject);
    if (onSent) sent.once("finish", onSent);
    sent.end(body);
  });
  return {
    status: message.statusCode ?? 0,
    statusText: message.statusMessage ?? "",
    headers: Object.fromEntries(
      Object.entries(message.headers).map(([name, value]) => [
        name,
        Array.isArray(value) ? value.join(", ") : (value ?? ""),
      ]),
    ),
    rawHeaders: message.rawHeaders,
    body: decoded(message),
  };
}

/** The body without its compressions, the last of which was made last. */
function decoded(message: IncomingMessage): Readable {
  const encodings = (message.headers["content-encoding"] ?? "").toLowerCase().split(",");
  const decoders = encodings.toReversed().flatMap((encoding) => decoderOf(encoding.trim()) ?? []);
  if (decoders.length === 0) return message;
  const { pipeline } = process.getBuiltinModule("node:stream");
  // The error of any part reaches the reader of the last one.
  return pipeline([message, ...decoders], () => undefined) as unknown as Readable;
}

function decoderOf(encoding: string): NodeJS.ReadWriteStream | undefined {
  const zlib = process.getBuiltinModule("node:zlib");
  // A stream that is flushed but not ended is read as far as it goes.
  const flush = { flush: zlib.constants.Z_SYNC_FLUSH, finishFlush: zlib.constants.Z_SYNC_FLUSH };
  switch (encoding) {
    case "gzip":
    case "x-gzip":
      return zlib.createGunzip(flush);
    case "deflate":
      return zlib.createInflate(flush);
    case "br":
      return zlib.createBrotliDecompress({
        flush: zlib.constants.BROTLI_OPERATION_FLUSH,
        finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH,
      });
    case "zstd":
      return zlib.createZstdDecompress();
    default:
      return undefined;
  }
}
