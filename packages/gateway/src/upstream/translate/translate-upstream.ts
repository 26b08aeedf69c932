/**
 * Upstream that answers a harness with a model of another protocol: converts the request, sends it to the model in its own protocol,
 * and writes the answer in the harness's protocol as it comes.
 */
import { Readable } from "node:stream";
import { PagurusError, toPagurusError, type ErrorCode } from "@pagurus/contract/errors";
import type { AssistantMessage } from "@pagurus/contract/message";
import { streamModel } from "@pagurus/core/model/model-stream";
import type { ModelPart, ResolvedModel } from "@pagurus/core/model/provider-types";
import type {
  AnswerWriter,
  Dialect,
  WireApi,
  WireFault,
  WireReply,
  WireRequest,
} from "../../dialect/wire-dialect.ts";
import { JsonScanError } from "../../json/scan.ts";
import type { Upstream, UpstreamAnswer, UpstreamRequest } from "../upstream.ts";
import type { Asked } from "./asked.ts";
import { LiveStream } from "./live-stream.ts";
import { namedElsewhere } from "./named-elsewhere.ts";
import { recast } from "./recast.ts";
import {
  asHarnessKnows,
  askedTokens,
  modelRequest,
  translationProblem,
  readAsked,
} from "./translate-request.ts";

export interface TranslateOptions {
  model: ResolvedModel;
  /** For the provider's prompt cache; default: the harness's own name for the conversation. */
  sessionKey?: string;
  /** The model's credentials. */
  secrets?: readonly string[];
  stream?: typeof streamModel;
  /** Interval of keep-alive events while the answer sends nothing, ms. */
  aliveMs?: number;
}

const ALIVE_MS = 20_000;

/** The dialect's fault for a failure of the model, with the most specific status. */
const FAULTS: Partial<Record<ErrorCode, readonly [WireFault, number]>> = {
  model_auth: ["unauthorized", 401],
  credential_missing: ["unauthorized", 401],
  model_rate_limited: ["overloaded", 429],
  context_overflow: ["context_overflow", 400],
  model_bad_request: ["bad_request", 400],
  model_refused: ["bad_request", 400],
  model_unknown: ["not_found", 404],
  model_unavailable: ["upstream_failed", 502],
  model_stream_cut: ["upstream_failed", 502],
  model_bad_response: ["upstream_failed", 502],
};

/** Paths that call a model, and those that count tokens. */
const PATHS =
  /^\/(?:responses(?:\/(?:compact|input_tokens))?|chat\/completions|messages(?:\/count_tokens)?|(?:v1(?:alpha|beta)?\/)?models\/[^/]+:(?:generateContent|streamGenerateContent|countTokens))$/;

export function translatingUpstream(options: TranslateOptions): Upstream {
  return new Translator(options);
}

class Translator implements Upstream {
  readonly label: string;
  readonly secrets: readonly string[];
  readonly #options: TranslateOptions;

  constructor(options: TranslateOptions) {
    this.#options = options;
    this.label = options.model.info.ref;
    this.secrets = options.secrets ?? [];
  }

  async send(request: UpstreamRequest): Promise<UpstreamAnswer> {
    const { dialect, method, path } = request;
    // A query may have a key.
    const [plain = ""] = path.split("?");
    if (method !== "POST" || !PATHS.test(plain))
      return relayedAnswer(
        dialect.fault("not_found", `Nothing answers ${method} ${plain} for "${this.label}".`),
      );
    try {
      return await this.#ask(reread(request), request);
    } catch (thrown) {
      if (thrown instanceof JsonScanError)
        return relayedAnswer(dialect.fault("bad_request", `The request cannot be read: ${thrown.message}.`));
      const error = toPagurusError(thrown);
      if (error.code === "turn_aborted") throw error;
      return relayedAnswer(refusal(dialect, error));
    }
  }

  async #ask(read: WireRequest, request: UpstreamRequest): Promise<UpstreamAnswer> {
    const { model, stream = streamModel, sessionKey = read.native.threadId } = this.#options;
    const { dialect } = request;
    const unknown = namedElsewhere(read);
    if (unknown !== undefined) return relayedAnswer(dialect.fault("bad_request", unknown));
    const asked = readAsked(read);
    if (read.kind === "count") return relayedAnswer(counted(read.api, askedTokens(asked)));
    const problem = translationProblem(model.info, asked);
    if (problem !== undefined) return relayedAnswer(dialect.fault("bad_request", problem));
    const left = new AbortController();
    const signal = AbortSignal.any([request.signal, left.signal]);
    const parts = stream(model, modelRequest(asked, model.info, signal, sessionKey));
    if (asked.wantsSummary === true) {
      // The name of the conversation is not in the bytes.
      const { native } = request.read ?? read;
      return relayedAnswer(await summary(dialect, { ...read, native }, parts));
    }
    const writer = dialect.writer(read);
    const bodies = [read.body, ...(request.read ? [request.read.body] : [])];
    const write = (part: ModelPart): Buffer => written(part, { writer, asked, bodies });
    if (!read.stream) {
      const part: ModelPart = { type: "finish", message: await wholeAnswer(parts) };
      return relayedAnswer({ ...writer.head, body: write(part) });
    }
    const first = await begun(parts);
    const source = bytes(first, parts, { write, fail: (reason) => writer.fail(reason) });
    const { aliveMs = ALIVE_MS } = this.#options;
    const { api, isListStream: isList = false } = read;
    const answer = new LiveStream(source, { leave: () => left.abort(), api, isList, aliveMs });
    return { ...heads(writer.head.headers), status: writer.head.status, stream: answer };
  }
}

/** Parses the request as it is sent. Throws `JsonScanError`. */
function reread({ path, rawHeaders, body, dialect }: UpstreamRequest): WireRequest {
  const headers: Record<string, string> = {};
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    headers[(rawHeaders[at] ?? "").toLowerCase()] = rawHeaders[at + 1] ?? "";
  return dialect.read(path, headers, Buffer.concat(body));
}

/** The whole answer; failed calls on the way are retried by the model client. */
async function wholeAnswer(parts: AsyncGenerator<ModelPart>): Promise<AssistantMessage> {
  for await (const part of parts) if (part.type === "finish") return part.message;
  throw new PagurusError("model_stream_cut", "The model's answer has no end; ask again.");
}

async function summary(
  dialect: Dialect,
  read: WireRequest,
  parts: AsyncGenerator<ModelPart>,
): Promise<WireReply> {
  const { content, usage } = await wholeAnswer(parts);
  const text = content.map((part) => (part.type === "text" ? part.text : "")).join("");
  return dialect.answer(read, text, usage ?? { input: 0, output: 0, totalTokens: 0 });
}

/** Resolves when the model begins to answer: until then its calls may fail and be retried. */
async function begun(parts: AsyncGenerator<ModelPart>): Promise<ModelPart> {
  let next = await parts.next();
  while (next.done !== true && next.value.type === "retry") next = await parts.next();
  if (next.done === true)
    throw new PagurusError("model_stream_cut", "The model's answer has no end; ask again.");
  return next.value;
}

interface Words {
  write(part: ModelPart): Buffer;
  fail(reason: string): Buffer;
}

async function* bytes(
  first: ModelPart,
  parts: AsyncGenerator<ModelPart>,
  { write, fail }: Words,
): AsyncGenerator<Buffer> {
  try {
    yield write(first);
    for await (const part of parts) {
      // Text already sent cannot be taken back; the harness asks again.
      if (part.type === "retry") {
        yield broken(fail(part.reason), part.reason);
        return;
      }
      yield write(part);
    }
  } catch (thrown) {
    const error = toPagurusError(thrown);
    if (error.code === "turn_aborted") throw error;
    yield broken(fail(error.message), error.message);
  }
}

/** Writes the failure; if the dialect has no event for it, the stream is cut. */
function broken(bytes: Buffer, reason: string): Buffer {
  if (bytes.length === 0) throw new PagurusError("model_stream_cut", reason);
  return bytes;
}

function written(
  part: ModelPart,
  { writer, asked, bodies }: { writer: AnswerWriter; asked: Asked; bodies: readonly Buffer[] },
): Buffer {
  if (part.type !== "finish") return writer.write(part);
  const message = asHarnessKnows(part.message, asked, bodies);
  return recast(writer.write({ ...part, message }), message, asked.tools);
}

function refusal(dialect: Dialect, { code, message }: PagurusError): WireReply {
  const [fault, status] = FAULTS[code] ?? ["internal", 500];
  return { ...dialect.fault(fault, message, status), status };
}

/** Chat Completions has no endpoint that counts. */
function counted(api: WireApi, tokens: number): WireReply {
  const name = api === "google-generative-ai" ? "totalTokens" : "input_tokens";
  const kind = api === "openai-responses" ? { object: "response.input_tokens" } : {};
  const body = Buffer.from(JSON.stringify({ ...kind, [name]: tokens }));
  return { status: 200, headers: { "content-type": "application/json" }, body };
}

function relayedAnswer({ status, headers, body }: WireReply): UpstreamAnswer {
  return { ...heads(headers), status, stream: Readable.from([body], { objectMode: false }) };
}

function heads(headers: Readonly<Record<string, string>>): Pick<UpstreamAnswer, "headers" | "rawHeaders"> {
  const entries = Object.entries(headers).map(([name, value]): [string, string] => [
    name.toLowerCase(),
    value,
  ]);
  return { headers: Object.fromEntries(entries), rawHeaders: entries.flat() };
}
