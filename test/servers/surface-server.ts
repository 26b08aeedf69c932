/** A local provider of OpenAI's direct surfaces: vectors, images, speech and transcripts, over the real protocol. Records its requests. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface SurfaceRequest {
  path: string;
  headers: IncomingMessage["headers"];
  body: Buffer;
  /** Of JSON or of a form; a file is its bytes in latin1. */
  fields: Record<string, unknown>;
  /** Resolves when the client leaves before the end of its answer. */
  left: Promise<void>;
}

export interface SurfaceServer {
  /** The base URL with its version. */
  readonly url: string;
  readonly requests: SurfaceRequest[];
  /** Answers the next requests with this error, until it recovers. */
  fail(status: number, error: object): void;
  recover(): void;
  /** Speech and images begin and then wait until they are released. */
  hold(): { begun: Promise<SurfaceRequest>; release(): void };
  close(): Promise<void>;
}

/** The key that the provider takes. */
export const SURFACE_KEY = "surface-key-0123456789";
/** Bytes of speech, with every value of a byte. */
export const SPOKEN = Buffer.from(Array.from({ length: 4_096 }, (_, at) => at % 256));
/** A PNG of one pixel. */
export const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
export const WORDS = "The crab takes another shell.";
const IMAGE_USAGE = { input_tokens: 12, output_tokens: 4_160, total_tokens: 4_172 };

export async function startSurfaceServer(): Promise<SurfaceServer> {
  const state = new Surfaces();
  const server = createServer((request, response) => {
    state.handle(request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests: state.requests,
    fail: (status, error) => (state.failure = { status, error }),
    recover: () => (state.failure = undefined),
    hold: () => state.hold(),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

class Surfaces {
  readonly requests: SurfaceRequest[] = [];
  failure: { status: number; error: object } | undefined;
  #held: { begun: PromiseWithResolvers<SurfaceRequest>; released: PromiseWithResolvers<void> } | undefined;

  hold(): ReturnType<SurfaceServer["hold"]> {
    const held = {
      begun: Promise.withResolvers<SurfaceRequest>(),
      released: Promise.withResolvers<void>(),
    };
    this.#held = held;
    return {
      begun: held.begun.promise,
      release: () => {
        this.#held = undefined;
        held.released.resolve();
      },
    };
  }

  async handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(incoming);
    const path = (incoming.url ?? "").slice("/v1".length);
    const left = new Promise<void>((resolve) => {
      response.once("close", () => {
        if (!response.writableFinished) resolve();
      });
    });
    const fields = await fieldsOf(incoming, body);
    const request = { path, headers: incoming.headers, body, fields, left };
    this.requests.push(request);
    if (incoming.headers.authorization !== `Bearer ${SURFACE_KEY}`)
      return sendJson(response, 401, { error: { message: "no such key", type: "invalid_request_error" } });
    if (this.failure) return sendJson(response, this.failure.status, { error: this.failure.error });
    const answer = ANSWERS[path];
    if (!answer) return sendJson(response, 404, { error: { message: `no such path: ${path}` } });
    await answer(fields, response, async () => {
      const held = this.#held;
      held?.begun.resolve(request);
      await held?.released.promise;
    });
  }
}

type Answer = (
  fields: Record<string, unknown>,
  response: ServerResponse,
  wait: () => Promise<void>,
) => Promise<void> | void;

const ANSWERS: Readonly<Record<string, Answer>> = {
  "/embeddings": ({ input, encoding_format, model }, response) => {
    const inputs = Array.isArray(input) && typeof input[0] !== "number" ? (input as unknown[]) : [input];
    const vector = Float32Array.from({ length: 256 }, (_, at) => at / 256);
    const embedding =
      encoding_format === "base64" ? Buffer.from(vector.buffer).toString("base64") : Array.from(vector);
    sendJson(response, 200, {
      object: "list",
      data: inputs.map((_, index) => ({ object: "embedding", index, embedding })),
      model,
      usage: { prompt_tokens: 7 * inputs.length, total_tokens: 7 * inputs.length },
    });
  },
  "/images/generations": images,
  "/images/edits": images,
  "/audio/speech": async (_fields, response, wait) => {
    response.writeHead(200, { "content-type": "audio/mpeg" });
    response.write(SPOKEN.subarray(0, 1_024));
    await wait();
    response.end(SPOKEN.subarray(1_024));
  },
  "/audio/transcriptions": transcript,
  "/audio/translations": transcript,
};

async function images(
  { n, stream }: Record<string, unknown>,
  response: ServerResponse,
  wait: () => Promise<void>,
): Promise<void> {
  if (stream !== true && stream !== "true") {
    await wait();
    const data = Array.from({ length: Number(n ?? 1) }, () => ({ b64_json: PIXEL }));
    return sendJson(response, 200, { created: 1, data, usage: IMAGE_USAGE });
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const partial = { type: "image_generation.partial_image", b64_json: PIXEL, partial_image_index: 0 };
  response.write(`event: ${partial.type}\ndata: ${JSON.stringify(partial)}\n\n`);
  await wait();
  const done = { type: "image_generation.completed", b64_json: PIXEL, usage: IMAGE_USAGE };
  response.end(`event: ${done.type}\ndata: ${JSON.stringify(done)}\n\n`);
}

function transcript({ response_format }: Record<string, unknown>, response: ServerResponse): void {
  if (response_format === "text") {
    response.writeHead(200, { "content-type": "text/plain" });
    return void response.end(`${WORDS}\n`);
  }
  sendJson(response, 200, { text: WORDS, usage: { type: "duration", seconds: 30 } });
}

async function bodyOf(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function fieldsOf(
  { headers, url = "" }: IncomingMessage,
  body: Buffer,
): Promise<Record<string, unknown>> {
  const type = headers["content-type"] ?? "";
  if (type.startsWith("application/json"))
    return JSON.parse(body.toString("utf8")) as Record<string, unknown>;
  const asked = new Request(`http://localhost${url}`, {
    method: "POST",
    headers: { "content-type": type },
    body: Uint8Array.from(body),
  });
  const fields: Record<string, unknown> = {};
  for (const [name, value] of await asked.formData())
    fields[name] =
      typeof value === "string" ? value : Buffer.from(await value.arrayBuffer()).toString("latin1");
  return fields;
}

function sendJson(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}
