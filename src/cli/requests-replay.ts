import { buffer } from "node:stream/consumers";
import { PagurusError } from "../contract/errors.ts";
import { loadConfig } from "../config/load.ts";
import type { PagurusConfig } from "../config/types.ts";
import { bytes } from "../command/layout.ts";
import { plainBytes, readPart, type CaptureSession } from "../gateway/wire/capture/read.ts";
import type { CaptureRecord } from "../gateway/wire/capture/record.ts";
import { REDACTED } from "../gateway/wire/capture/redact.ts";
import { dialectOf } from "../gateway/wire/dialect/dialects.ts";
import type { Dialect } from "../gateway/wire/dialect/dialect.ts";
import { objectMembers, wholeValue } from "../gateway/wire/json/scan.ts";
import { upstreamFor } from "../gateway/wire/upstream/for-model.ts";
import type { UpstreamAnswer, UpstreamRequest } from "../gateway/wire/upstream/upstream.ts";
import { KNOWN_PROVIDERS } from "../model/catalog.ts";
import { resolveModel } from "../model/resolve.ts";
import type { ResolvedModel } from "../model/types.ts";
import { type Cli, printJson, printLine, written } from "./cli.ts";
import { messageForPerson } from "./entry-text.ts";
import { EXIT_DONE, EXIT_FAILED, usageError } from "./failure.ts";
import { captured, capturesOf, type RequestsOptions } from "./requests.ts";
import { wireHeaders } from "./requests-view.ts";

export interface ReplayOptions extends RequestsOptions {
  model?: string;
  text?: boolean;
}

/** Refs that the request may have gone to: its upstream may be named by a model, or by an address. */
function candidates(record: CaptureRecord, label: string, config: PagurusConfig): string[] {
  if (label.includes("/")) return [label];
  const providers = new Set([
    ...Object.keys(config.models?.providers ?? {}),
    ...Object.keys(KNOWN_PROVIDERS),
  ]);
  return [...providers].map((provider) => `${provider}/${record.model}`);
}

/** A model that is served where the request went. */
function servedAt(
  ref: string,
  label: string,
  config: PagurusConfig,
  env: Cli["env"],
): ResolvedModel | PagurusError {
  try {
    const model = resolveModel(ref, config, env);
    if (label.includes("/")) return model;
    const { host, hostname, port, protocol } = new URL(model.baseUrl);
    const full = `${hostname}:${port === "" ? (protocol === "https:" ? "443" : "80") : port}`;
    return label === host || label === full
      ? model
      : new PagurusError("model_unknown", "It is served elsewhere.");
  } catch (error) {
    if (error instanceof PagurusError) return error;
    throw error;
  }
}

/** Throws `usage_invalid`, `credential_missing`, `model_unknown`, `config_invalid`. */
function modelOf(cli: Cli, record: CaptureRecord, options: ReplayOptions): ResolvedModel {
  const { config } = loadConfig(capturesOf(cli, options));
  if (options.model !== undefined) return resolveModel(options.model, config, cli.env);
  const label = record.sent.at(-1)?.upstream;
  if (label === undefined)
    throw usageError(`Request ${record.number} was not sent on; --model names a model to send it to.`);
  const found = candidates(record, label, config).map((ref) => servedAt(ref, label, config, cli.env));
  const model = found.find((one) => !(one instanceof PagurusError) && one.info.api === record.api);
  if (model && !(model instanceof PagurusError)) return model;
  const [first] = found;
  if (label.includes("/") && first instanceof PagurusError) throw first;
  throw usageError(
    `Request ${record.number} went to ${label}, which no provider of the configuration serves with a key at hand; --model names one to send it to.`,
  );
}

function isLoopback(baseUrl: string): boolean {
  return /^(?:localhost|127\.[\d.]+|\[::1\])$/.test(new URL(baseUrl).hostname);
}

/** The harness's own key was not kept, so the host must have one. */
function checkCredentials({ info, baseUrl, apiKey, headers }: ResolvedModel, record: CaptureRecord): void {
  if (info.api === "offline")
    throw usageError(`The model ${info.ref} is built in and takes no requests; --model names another.`);
  const hadKey = record.headers.some(
    ([name, value]) => value === REDACTED && /^(?:authorization|x-api-key)$/i.test(name),
  );
  if (!hadKey || apiKey || Object.keys(headers.reveal()).length > 0 || isLoopback(baseUrl)) return;
  throw new PagurusError(
    "credential_missing",
    `The request was sent with a key of the harness, which captures do not hold; set models.providers.${info.provider}.apiKey in the configuration to send it again.`,
  );
}

/** The body with another model's id in it, every other byte as it was. */
function withModel(body: Buffer, id: string): Buffer {
  const span = objectMembers(body, wholeValue(body)).get("model");
  if (!span) throw usageError("The captured body names no model that could be replaced.");
  return Buffer.concat([
    body.subarray(0, span.start),
    Buffer.from(JSON.stringify(id)),
    body.subarray(span.end),
  ]);
}

function bodyOf(
  session: CaptureSession,
  record: CaptureRecord,
  id: string | undefined,
): { body: Buffer; isPlain: boolean } {
  const part = readPart(session, record, record.sent.length > 0 ? "sent" : "harness");
  const about = record.sent.at(-1)?.body;
  const stored = typeof about === "object" ? about : record.harness;
  if (!part || part.bytes.length < stored.bytes) {
    throw usageError(
      `Of request ${record.number} not all bytes are captured, so that it cannot be sent again.`,
    );
  }
  if (id === undefined) return { body: part.bytes, isPlain: false };
  return { body: withModel(plainBytes(part.bytes, record.headers), id), isPlain: true };
}

/** What is not known any more, or would have the answer come in a form that nobody reads here. */
function headersOf(record: CaptureRecord, isPlain: boolean): string[] {
  return record.headers
    .filter(([, value]) => value !== REDACTED)
    .filter(([name]) => !/^(?:accept-encoding|content-length)$/i.test(name))
    .filter(([name]) => !(isPlain && /^content-encoding$/i.test(name)))
    .flat();
}

function readOrNot(dialect: Dialect, record: CaptureRecord, body: Buffer): UpstreamRequest["read"] {
  try {
    return dialect.read(record.path.replace(/\?.*$/, ""), wireHeaders(record.headers), body);
  } catch {
    // It goes as it is; a model of another protocol says that it cannot be translated.
    return undefined;
  }
}

/** `requests replay`: the answer goes to standard output and into no session. */
export async function replayRequest(cli: Cli, number: number, options: ReplayOptions): Promise<number> {
  const session = capturesOf(cli, options);
  const record = captured(session, number);
  const model = modelOf(cli, record, options);
  checkCredentials(model, record);
  const { body, isPlain } = bodyOf(session, record, options.model === undefined ? undefined : model.info.id);
  const dialect = await dialectOf(record.api);
  const controller = new AbortController();
  const stop = cli.onInterrupt(() => controller.abort());
  try {
    const answer = await upstreamFor(model, record.api, record.sessionKey).send({
      method: record.method,
      path: record.path,
      rawHeaders: headersOf(record, isPlain),
      body: [body],
      read: readOrNot(dialect, record, body),
      dialect,
      signal: controller.signal,
    });
    if (record.harness.redacted !== undefined)
      printLine(cli.stderr, "note: stars cover secrets in it, also in what was sent now.");
    printLine(
      cli.stderr,
      `Sent ${bytes(body.length)} to ${model.info.ref}: status ${answer.status}. Nothing is stored.`,
    );
    if (options.text === true || options.json === true)
      await printRead(cli, { answer, dialect, model, options });
    else for await (const chunk of answer.stream as AsyncIterable<Buffer>) await written(cli.stdout, chunk);
    return answer.status >= 400 ? EXIT_FAILED : EXIT_DONE;
  } finally {
    stop();
  }
}

async function printRead(
  cli: Cli,
  about: { answer: UpstreamAnswer; dialect: Dialect; model: ResolvedModel; options: ReplayOptions },
): Promise<void> {
  const { answer, dialect, model, options } = about;
  const came = await buffer(answer.stream);
  const encoding = answer.headers["content-encoding"];
  const reader = dialect.reader(answer.status, answer.headers);
  reader.take(plainBytes(came, typeof encoding === "string" ? [["content-encoding", encoding]] : []));
  const said = reader.end();
  if (options.json === true) printJson(cli, { status: answer.status, model: model.info.ref, ...said });
  else printLine(cli.stdout, said.error?.message ?? messageForPerson(said.message).text);
}
