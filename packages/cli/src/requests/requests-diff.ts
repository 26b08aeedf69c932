import { plural } from "@pagurus/core/data/plain-numbers";
import { bytes, table, terminalSafe } from "@pagurus/host/command/layout";
import { compareBodies, type BodyDiff, type ComparedElement } from "@pagurus/gateway/capture/compare";
import type { CaptureSession } from "@pagurus/gateway/capture/read-capture";
import { type Cli, printJson, printLine } from "../cli.ts";
import { EXIT_DONE, usageError } from "../cli-failure.ts";
import { captured, capturesOf, type RequestsOptions } from "./requests-work.ts";
import { readBody, type ReadBody } from "./requests-view.ts";
import { defined } from "@pagurus/core/data/defined";

const WIDTH = 60;

async function bodyOf(session: CaptureSession, number: number, part: "harness" | "sent"): Promise<ReadBody> {
  const record = captured(session, number);
  const body = await readBody(session, record, { part, width: WIDTH });
  if (body) return body;
  throw usageError(
    `Request ${number} was not forwarded, so there is nothing to compare; pagurus requests show ${number} shows its outcome.`,
  );
}

/** Folds consecutive kept elements into one line: they are the majority. */
function folded(elements: readonly ComparedElement[]): string[][] {
  const rows: string[][] = [];
  for (let at = 0; at < elements.length;) {
    const first = elements[at];
    if (!first) break;
    let end = at + 1;
    if (first.state === "kept") while (elements[end]?.state === "kept") end += 1;
    const run = elements.slice(at, end);
    const size = bytes(run.reduce((sum, { element }) => sum + element.bytes, 0));
    const last = run.at(-1)?.element.at ?? "";
    const many = run.length > 1;
    rows.push([
      first.state,
      many ? `${first.element.at} … ${last}` : first.element.at,
      many ? "" : first.element.role,
      size,
      many ? plural(run.length, "element") : first.element.words,
    ]);
    at = end;
  }
  return rows;
}

function bodyDiffText(diff: BodyDiff, names: { before: string; after: string }): string {
  const { counts, sharedPrefix: shared, isSameModel } = diff;
  const changes = (["kept", "marked", "replaced", "dropped", "added"] as const)
    .filter((state) => counts[state].elements > 0)
    .map((state) => `${counts[state].elements} ${state} (${bytes(counts[state].bytes)})`);
  const model = isSameModel ? "" : "; but the models differ, and each model has its own cache";
  return [
    `From ${names.before} to ${names.after}: ${changes.join(", ")}.`,
    `Shared prefix: ${bytes(shared.bytes)} of ${bytes(shared.of)} (${shared.percent} %), ${plural(shared.elements, "whole element")}: what a provider's cache could reuse${model}.`,
    "",
    ...table(["STATE", "ELEMENT", "ROLE", "SIZE", "WORDS"], folded(diff.elements), [3]),
  ].join("\n");
}

function diffJson(diff: BodyDiff): unknown {
  const elements = diff.elements.map(({ state, element, now }) => {
    const { span: _span, saysHash: _says, ...plain } = element;
    return { state, ...plain, ...defined({ now }) };
  });
  return { ...diff, elements };
}

/** `requests diff`: of one request the received and the forwarded body, of two the forwarded ones. */
export async function diffRequests(
  cli: Cli,
  number: number,
  other: number | undefined,
  options: RequestsOptions,
): Promise<number> {
  const session = await capturesOf(cli, options);
  const before = await bodyOf(session, number, other === undefined ? "harness" : "sent");
  const after = await bodyOf(session, other ?? number, "sent");
  const diff = compareBodies(before, after);
  const names =
    other === undefined
      ? { before: "what the harness sent", after: "the forwarded request" }
      : { before: `request ${number}`, after: `request ${other}` };
  const text = options.json === true ? undefined : bodyDiffText(diff, names);
  if (text === undefined) printJson(cli, diffJson(diff));
  else printLine(cli.stdout, cli.stdout.isTTY === true ? terminalSafe(text) : text);
  for (const note of new Set([...before.notes, ...after.notes])) printLine(cli.stderr, `note: ${note}.`);
  return EXIT_DONE;
}
