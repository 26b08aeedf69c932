import { plural } from "@pagurus/core/data/plain-numbers";
import { bytes, table, terminalSafe, time } from "@pagurus/host/command/layout";
import type { BodyElement } from "@pagurus/gateway/capture/elements";
import {
  headerOf,
  plainBytes,
  readPart,
  type CaptureSession,
  type PartBytes,
} from "@pagurus/gateway/capture/read-capture";
import type { CapturePart, CaptureRecord, StoredBody } from "@pagurus/gateway/capture/capture-record";
import { dialectOf } from "@pagurus/gateway/dialect/dialects";
import type { WireAnswer } from "@pagurus/gateway/dialect/wire-dialect";
import { type Cli, printJson, printLine, written } from "../cli.ts";
import { messageForPerson } from "../sessions/entry-text.ts";
import { EXIT_DONE, usageError } from "../cli-failure.ts";
import { captured, capturesOf, duration, type RequestsOptions } from "./requests-work.ts";
import { readBody, wireHeaders, type ReadBody } from "./requests-view.ts";

export interface ShowRequestOptions extends RequestsOptions {
  part?: CapturePart | "headers";
  raw?: boolean;
}

/** Origin of an element of the forwarded request, or fate of one of the harness's request. */
type From = "kept" | "engine" | "left out";

interface Shown {
  element: BodyElement;
  from: From;
}

const NARROW = 40;
/** Columns beside an element's text. */
const BESIDE = 56;

function wordsWidth(cli: Cli): number {
  return Math.max(NARROW, (cli.stdout.columns ?? 120) - BESIDE);
}

function origins(elements: readonly BodyElement[], other: ReadBody | undefined, absent: From): Shown[] {
  const left = new Map<string, number>();
  for (const { hash } of other?.view.elements ?? []) left.set(hash, (left.get(hash) ?? 0) + 1);
  return elements.map((element) => {
    const many = left.get(element.hash) ?? 0;
    left.set(element.hash, many - 1);
    return { element, from: other === undefined || many > 0 ? "kept" : absent };
  });
}

function size(body: StoredBody): string {
  return bytes(body.bytes);
}

function sentLine({ sent, harness }: CaptureRecord): string {
  const last = sent.at(-1);
  if (!last) return "nothing: the request was not forwarded";
  const items = [
    last.keptItems === undefined ? "" : `${plural(last.keptItems, "element")} kept`,
    last.encodedMessages === undefined ? "" : `${plural(last.encodedMessages, "message")} of the engine`,
    last.droppedItems === undefined ? "" : `${plural(last.droppedItems, "element")} left out`,
  ].filter((part) => part !== "");
  const how = last.replaced ? `replaced${items.length === 0 ? "" : ` (${items.join(", ")})`}` : "unchanged";
  const times = sent.length > 1 ? `; the last of ${sent.length} times` : "";
  return `${last.body === "same" ? size(harness) : size(last.body)} to ${last.upstream}, ${how}${times}`;
}

function answerLine({ answer, outcome }: CaptureRecord): string {
  if (!answer)
    return outcome ? `none${outcome.error === undefined ? "" : `: ${outcome.error}`}` : "none so far";
  const body = answer.body ? `, ${size(answer.body)}` : "";
  const first = answer.firstByteMs === undefined ? "" : `, first byte after ${duration(answer.firstByteMs)}`;
  if (!outcome) return `status ${answer.status}${first}; it has not ended, or the process has`;
  const end = outcome.left ? "; the harness disconnected" : outcome.cut ? "; it was cut off" : "";
  const why = outcome.error === undefined ? "" : ` (${outcome.error})`;
  return `status ${answer.status} by the ${outcome.answeredBy}${body}${first}, ${duration(outcome.totalMs)} in all${end}${why}`;
}

/** Metadata of a request. */
function headText(record: CaptureRecord): string {
  const { number, sessionKey, runtime, kind, api, model, method, path, turnId } = record;
  const turn = turnId === undefined ? "" : `, turn ${turnId}`;
  return [
    `Request ${number} of session ${sessionKey}: ${kind}, ${model === "" ? "no model" : model}, ${runtime} (${api})`,
    `Came:    ${time(record.time)}, ${method} ${path}, ${size(record.harness)}${turn}`,
    `Sent:    ${sentLine(record)}`,
    `Answer:  ${answerLine(record)}`,
  ].join("\n");
}

function elementsText(shown: readonly Shown[]): string {
  const rows = shown.map(({ element, from }) => [
    element.at,
    element.role,
    bytes(element.bytes),
    from,
    element.words,
  ]);
  return table(["ELEMENT", "ROLE", "SIZE", "FROM", "WORDS"], rows, [2]).join("\n");
}

function print(cli: Cli, text: string): void {
  printLine(cli.stdout, cli.stdout.isTTY === true ? terminalSafe(text) : text);
}

function printNotes(cli: Cli, notes: readonly string[]): void {
  for (const note of notes) printLine(cli.stderr, `note: ${note}.`);
}

async function showBody(
  cli: Cli,
  session: CaptureSession,
  record: CaptureRecord,
  options: ShowRequestOptions,
): Promise<void> {
  const width = wordsWidth(cli);
  const wanted =
    options.part === "sent" || (options.part === undefined && record.sent.length > 0) ? "sent" : "harness";
  const body = await readBody(session, record, { part: wanted, width });
  if (!body)
    throw usageError(
      `Request ${record.number} was not forwarded; --part harness shows what the harness sent.`,
    );
  const other = await readBody(session, record, { part: wanted === "sent" ? "harness" : "sent", width });
  const shown = origins(body.view.elements, other, wanted === "sent" ? "engine" : "left out");
  if (options.json === true) {
    const elements = shown.map(({ element: { span: _span, saysHash: _says, ...element }, from }) => ({
      ...element,
      from,
    }));
    printJson(cli, { record, part: wanted, elements, notes: body.notes });
    return;
  }
  const title = wanted === "sent" ? "Forwarded request:" : "Request from the harness:";
  print(cli, `${headText(record)}\n\n${title}\n${elementsText(shown)}`);
  printNotes(cli, body.notes);
}

async function readAnswer(record: CaptureRecord, part: PartBytes): Promise<WireAnswer | undefined> {
  const { answer } = record;
  if (!answer) return undefined;
  const dialect = await dialectOf(record.api);
  const reader = dialect.reader(answer.status, wireHeaders(answer.headers));
  reader.take(plainBytes(part.bytes, answer.headers));
  return reader.end();
}

async function showAnswer(
  cli: Cli,
  session: CaptureSession,
  record: CaptureRecord,
  options: ShowRequestOptions,
): Promise<void> {
  const part = readPart(session, record, "answer");
  const answer = part ? await readAnswer(record, part) : undefined;
  if (options.json === true) {
    printJson(cli, { record, part: "answer", answer, notes: part?.notes ?? [] });
    return;
  }
  const text = answer ? messageForPerson(answer.message).text : "";
  const plain = part && record.answer ? plainBytes(part.bytes, record.answer.headers).toString("utf8") : "";
  print(cli, `${headText(record)}\n\nThe answer:\n${text === "" ? plain : text}`);
  printNotes(cli, part?.notes ?? []);
}

function headerLines(headers: readonly (readonly [name: string, value: string])[]): string {
  return headers.map(([name, value]) => `${name}: ${value}`).join("\n");
}

function showHeaders(cli: Cli, record: CaptureRecord, options: ShowRequestOptions): void {
  const { headers, answer } = record;
  if (options.json === true) printJson(cli, { request: headers, answer: answer?.headers ?? [] });
  else {
    const came = answer ? `\n\nstatus ${answer.status}\n${headerLines(answer.headers)}` : "";
    print(cli, `${record.method} ${record.path}\n${headerLines(headers)}${came}`);
  }
}

/** Writes the exact bytes, which may be compressed. */
async function writeRaw(
  cli: Cli,
  session: CaptureSession,
  record: CaptureRecord,
  part: CapturePart,
): Promise<void> {
  const found = readPart(session, record, part);
  if (!found) throw usageError(`Request ${record.number} has no ${part === "sent" ? "sent body" : part}.`);
  await written(cli.stdout, found.bytes);
  const headers = part === "answer" ? (record.answer?.headers ?? []) : record.headers;
  const encoding = headerOf(headers, "content-encoding");
  printNotes(cli, [
    ...found.notes,
    ...(encoding === undefined ? [] : [`the bytes are encoded with ${encoding}`]),
  ]);
}

/** `requests show`. */
export async function showRequest(cli: Cli, number: number, options: ShowRequestOptions): Promise<number> {
  const session = await capturesOf(cli, options);
  const record = captured(session, number);
  const { part } = options;
  if (part === "headers") showHeaders(cli, record, options);
  else if (options.raw === true) {
    await writeRaw(cli, session, record, part ?? (record.sent.length > 0 ? "sent" : "harness"));
  } else if (part === "answer") await showAnswer(cli, session, record, options);
  else await showBody(cli, session, record, options);
  return EXIT_DONE;
}
