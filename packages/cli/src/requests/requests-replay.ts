import { buffer } from "node:stream/consumers";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import { loadConfig } from "@pagurus/core/config/load-config";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import { bytes } from "@pagurus/host/command/layout";
import { plainBytes, readPart, type CaptureSession } from "@pagurus/gateway/capture/read-capture";
import type { CaptureRecord } from "@pagurus/gateway/capture/capture-record";
import { REDACTED } from "@pagurus/gateway/capture/redact";
import { dialectOf } from "@pagurus/gateway/dialect/dialects";
import type { Dialect } from "@pagurus/gateway/dialect/wire-dialect";
import { objectMembers, wholeValue } from "@pagurus/gateway/json/scan";
import { upstreamFor } from "@pagurus/gateway/upstream/for-model";
import type { UpstreamAnswer, UpstreamRequest } from "@pagurus/gateway/upstream/upstream";
import { KNOWN_PROVIDERS } from "@pagurus/core/model/model-catalog";
import { isLoopback } from "@pagurus/core/platform/loopback";
import { resolveModel } from "@pagurus/core/model/resolve";
import type { ResolvedModel } from "@pagurus/core/model/provider-types";
import { type Cli, printJson, printLine, written } from "../cli.ts";
import { messageForPerson } from "../sessions/entry-text.ts";
import { EXIT_DONE, EXIT_FAILED, usageError } from "../cli-failure.ts";
import { captured, capturesOf, type RequestsOptions } from "./requests-work.ts";
import { wireHeaders } from "./requests-view.ts";
import { resolveHome } from "@pagurus/core/config/config-paths";

export interface ReplayOptions extends RequestsOptions {
  model?: string;
  text?: boolean;
}

/** Refs that the request may have been sent to: its upstream may be a model or an address. */
function candidates(record: CaptureRecord, label: string, config: PagurusConfig): string[] {
  if (label.includes("/")) return [label];
  const providers = new Set([
    ...Object.keys(config.models?.providers ?? {}),
    ...Object.keys(KNOWN_PROVIDERS),
  ]);
  return [...providers].map((provider) => `${provider}/${record.model}`);
}

/** A configured model served at the request's upstream. */
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
    if (isPagurusError(error)) return error;
    throw error;
  }
}

/** The model to send to. Throws `usage_invalid`, `credential_missing`, `model_unknown`, `config_invalid`. */
function modelOf(cli: Cli, record: CaptureRecord, options: ReplayOptions): ResolvedModel {
  const { config } = loadConfig({ home: resolveHome(cli.env) });
  if (options.model !== undefined) return resolveModel(options.model, config, cli.env);
  const label = record.sent.at(-1)?.upstream;
  if (label === undefined)
    throw usageError(`Request ${record.number} was not forwarded; --model names a model to send it to.`);
  const found = candidates(record, label, config).map((ref) => servedAt(ref, label, config, cli.env));
  const model = found.find((one) => !isPagurusError(one) && one.info.api === record.api);
  if (model && !isPagurusError(model)) return model;
  const [first] = found;
  if (label.includes("/") && isPagurusError(first)) throw first;
  throw usageError(
    `Request ${record.number} went to ${label}, which no provider of the configuration serves with a key at hand; --model names one to send it to.`,
  );
}

/** Throws unless the host has a key: the harness's own was not stored. */
function checkCredentials({ info, baseUrl, apiKey, headers }: ResolvedModel, record: CaptureRecord): void {
  if (info.api === "offline")
    throw usageError(`The model ${info.ref} is built in and takes no requests; --model names another.`);
  const hadKey = record.headers.some(
    ([name, value]) => value === REDACTED && /^(?:authorization|x-api-key)$/i.test(name),
  );
  const hasKey = apiKey !== undefined || Object.keys(headers.reveal()).length > 0;
  if (!hadKey || hasKey || isLoopback(new URL(baseUrl).hostname)) return;
  throw new PagurusError(
    "credential_missing",
    `The request was sent with a key of the harness, which captures do not hold; set models.providers.${info.provider}.apiKey in the configuration to send it again.`,
  );
}

/** The body with another model's id, every other byte unchanged. */
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

/** Headers to drop: outdated ones, and those that would make the answer unreadable here. */
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
    // Sent unchanged; a model of another protocol reports that it cannot be translated.
    return undefined;
  }
}

/** `requests replay`: prints the answer to standard output; no session stores it. */
export async function replayRequest(cli: Cli, number: number, options: ReplayOptions): Promise<number> {
  const session = await capturesOf(cli, options);
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
      printLine(cli.stderr, "note: secrets in it are masked with stars, also in this replay.");
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
  const read = reader.end();
  if (options.json === true) printJson(cli, { status: answer.status, model: model.info.ref, ...read });
  else printLine(cli.stdout, read.error?.message ?? messageForPerson(read.message).text);
}
