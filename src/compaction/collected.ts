/** The parts of a summary that code collects and that no model is trusted with: files and exact identifiers. */
import type { AgentMessage } from "../contract/message.ts";
import { estimateTokens } from "../tokens/estimate.ts";
import { callRecords } from "./calls.ts";
import { identifierLines } from "./extract.ts";
import { carriedFiles, fileLine, fileStates, isChanged } from "./files.ts";
import { requiredIdentifiers } from "./identifiers.ts";
import { renderSections, type SummaryLine } from "./sections.ts";

/** Shares of the summary that changed files, and exact strings that have to stay, take at most. */
const REQUIRED_FILES_SHARE = 0.12;
const REQUIRED_STRINGS_SHARE = 0.12;

interface Span {
  messages: readonly AgentMessage[];
  previousSummary?: string | undefined;
  identifierPolicy: "strict" | "off";
  /** Of the whole summary. */
  maxTokens: number;
}

/** What a complete summary shows. */
export interface RequiredParts {
  /** Paths of changed files, newest first, as many as have room. */
  files: string[];
  identifiers: string[];
}

interface File {
  path: string;
  line: string;
  changed: boolean;
}

/** Files of the span and of the summary before, by last use, newest first. */
function filesOf(span: Span): File[] {
  const states = fileStates(callRecords(span.messages), carriedFiles(span.previousSummary));
  return [...states].toReversed().map(([path, state]) => {
    return { path, line: fileLine(path, state), changed: isChanged(state) };
  });
}

/** As many as fit, changed ones before those that were only read. */
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

export function requiredOf(span: Span): RequiredParts {
  const changed = filesOf(span).filter((file) => file.changed);
  const chosen = chosenFiles(changed, span.maxTokens * REQUIRED_FILES_SHARE);
  const files = changed.filter((file) => chosen.has(file)).map((file) => file.path);
  const strings =
    span.identifierPolicy === "off"
      ? []
      : requiredIdentifiers(span.messages, span.maxTokens * REQUIRED_STRINGS_SHARE);
  return { files, identifiers: strings };
}

/** A model's text with the files and exact strings of the span behind it, those required first, within `maxTokens`. */
export function withCollected(span: Span, text: string, required: RequiredParts): string {
  const budget = span.maxTokens - estimateTokens(text);
  const files = filesOf(span);
  const chosen = chosenFiles(files, budget / 2);
  const oldestFirst = files.filter((file) => chosen.has(file)).toReversed();
  const lines: SummaryLine[] = oldestFirst.map(({ line }) => ({ section: "Files touched", text: line }));
  const shown = `${text}\n${renderSections(lines)}`;
  const rest = budget - estimateTokens(renderSections(lines));
  if (span.identifierPolicy === "strict") {
    lines.push(...identifierLines(span.messages, span.previousSummary, shown, rest, required.identifiers));
  }
  return lines.length === 0 ? text : `${text}\n\n${renderSections(lines)}`;
}
