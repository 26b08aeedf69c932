/** The parts of a summary that code collects instead of the model: files and exact identifiers. */
import type { AgentMessage } from "@pagurus/contract/message";
import { estimateTokens } from "../../tokens/estimate.ts";
import { readCalls } from "./calls.ts";
import { identifierLines } from "./extract.ts";
import { carriedFiles, fileLine, fileStates, isChanged } from "./touched-files.ts";
import { NO_STRINGS, requiredIdentifiers, surveyStrings, type SpanStrings } from "./identifiers.ts";
import type { Pace } from "../../platform/pace.ts";
import { renderSections, type SummaryLine } from "./sections.ts";

/** Limits on the shares of the summary for changed files and for required exact strings. */
const REQUIRED_FILES_SHARE = 0.12;
const REQUIRED_STRINGS_SHARE = 0.12;

export interface Span {
  messages: readonly AgentMessage[];
  previousSummary?: string | undefined;
  identifierPolicy: "strict" | "off";
  /** Limit on the whole summary. */
  maxTokens: number;
}

/** Files and strings that a complete summary has to contain. */
export interface RequiredParts {
  /** Paths of changed files, newest first, as many as fit. */
  files: string[];
  identifiers: string[];
}

interface File {
  path: string;
  line: string;
  changed: boolean;
}

/** Files and strings found in a span and in the previous summary. */
export interface Collected {
  span: Span;
  /** By last use, newest first. */
  files: File[];
  strings: SpanStrings;
}

/** Collects the files and strings of a span, in slices. */
export async function collect(span: Span, pace: Pace): Promise<Collected> {
  const records = await readCalls(span.messages, pace);
  const states = await fileStates(records, carriedFiles(span.previousSummary), pace);
  const files: File[] = [];
  await pace.each(states, ([path, state]) => {
    files.push({ path, line: fileLine(path, state), changed: isChanged(state) });
  });
  const strings = span.identifierPolicy === "off" ? NO_STRINGS : await surveyStrings(span.messages, pace);
  return { span, files: files.reverse(), strings };
}

/** As many files as fit, changed ones before those that were only read. */
function chosenFiles(files: readonly File[], budget: number): Set<File> {
  const chosen = new Set<File>();
  let left = budget;
  for (const changed of [true, false]) {
    for (const file of files) {
      if (file.changed !== changed) continue;
      left -= estimateTokens(`\n- ${file.line}`);
      if (left < 0) return chosen;
      chosen.add(file);
    }
  }
  return chosen;
}

export function requiredOf({ span, files, strings }: Collected): RequiredParts {
  const changed = files.filter((file) => file.changed);
  const chosen = chosenFiles(changed, span.maxTokens * REQUIRED_FILES_SHARE);
  return {
    files: changed.filter((file) => chosen.has(file)).map((file) => file.path),
    identifiers: requiredIdentifiers(strings, span.maxTokens * REQUIRED_STRINGS_SHARE),
  };
}

/** Appends the files and exact strings of the span to a model's text, required ones first, within `maxTokens`. */
export function withCollected(collected: Collected, text: string, required: RequiredParts): string {
  const { span, files, strings } = collected;
  const budget = span.maxTokens - estimateTokens(text);
  const chosen = chosenFiles(files, budget / 2);
  const oldestFirst = files.filter((file) => chosen.has(file)).toReversed();
  const lines: SummaryLine[] = oldestFirst.map(({ line }) => ({ section: "Files touched", text: line }));
  const shown = `${text}\n${renderSections(lines)}`;
  const rest = budget - estimateTokens(renderSections(lines));
  if (span.identifierPolicy === "strict") {
    lines.push(...identifierLines(strings, span.previousSummary, shown, rest, required.identifiers));
  }
  return lines.length === 0 ? text : `${text}\n\n${renderSections(lines)}`;
}
