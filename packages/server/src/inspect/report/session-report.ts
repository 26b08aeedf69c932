/** A whole session as one HTML file: its turns in the order of writing with all their words, requests and compactions. */
import type { AgentMessage } from "@pagurus/contract/message";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import type { RedactedKind, TimelineItem } from "@pagurus/api/types";
import { END, factsLine, head, text, words } from "./report-page.ts";
import type { ReportRedaction } from "./report-redaction.ts";
import { requestFacts, requestTitle } from "@pagurus/api/request-facts";

export interface ReportedSession {
  key: string;
  agentId: string;
  /** Oldest first. */
  items: readonly TimelineItem[];
  /** In the order of writing, off the path too. */
  entries: AsyncIterable<TranscriptEntry>;
}

type Turn = Extract<TimelineItem, { kind: "turn" }>;
type Request = Extract<TimelineItem, { kind: "request" }>["request"];

/** Pieces of the file. Throws `store_read_failed`. */
export async function* sessionReport(
  session: ReportedSession,
  redaction: ReportRedaction,
): AsyncGenerator<string> {
  const { key, agentId, items } = session;
  const turns = new Map(items.filter((item) => item.kind === "turn").map((turn) => [turn.turnId, turn]));
  const requests = items.filter((item) => item.kind === "request").map(({ request }) => request);
  const byTurn = Map.groupBy(requests, ({ turnId }) => turnId);
  yield head(`Session ${redaction.plain(key)}`);
  yield factsLine([`agent ${agentId}`, `${turns.size} turns`, `${requests.length} requests`]);
  yield leftOutOf(redaction);
  let turnId: string | undefined;
  for await (const entry of session.entries) {
    const turn = entry.turnId === undefined ? undefined : turns.get(entry.turnId);
    if (turn && entry.turnId !== turnId) {
      turnId = entry.turnId;
      yield turnHead(turn);
      // Once: entries of a turn may come after another has begun.
      yield requestList(byTurn.get(turnId) ?? []);
      byTurn.delete(turnId);
    }
    yield reportedWords(entry, redaction);
  }
  const others = [...byTurn.values()].flat();
  if (others.length > 0) yield `<h2>Requests outside of these turns</h2>\n${requestList(others)}`;
  yield END;
}

/** What the reader of a report does not see. */
export function leftOutOf(redaction: ReportRedaction): string {
  const picked = redaction.kinds.join(", ");
  return factsLine([`Secrets are masked${picked === "" ? "" : `; redacted: ${picked}`}.`]);
}

function turnHead({ turnId, at, runtimes, outcome, code, onPath }: Turn): string {
  const end = outcome === undefined ? "not ended" : code === undefined ? outcome : `${outcome} (${code})`;
  const where = onPath ? undefined : "off the path";
  return `<h2>Turn ${text(turnId)}</h2>\n${factsLine([at, runtimes.join(", "), end, where])}`;
}

function requestList(requests: readonly Request[]): string {
  if (requests.length === 0) return "";
  const rows = requests.map(
    (request) =>
      `<li>${text([request.id, request.at, requestTitle(request), ...requestFacts(request)].join(" · "))}</li>`,
  );
  return `<ul>${rows.join("\n")}</ul>\n`;
}

function reportedWords(entry: TranscriptEntry, redaction: ReportRedaction): string {
  const { id } = entry;
  switch (entry.type) {
    case "message":
      return messageParts(entry.message)
        .map((part) => words(`${part.title} · ${id}`, redaction.words([part.kind], part.text)))
        .join("");
    case "custom_message":
      return words(`${entry.customType} · ${id}`, redaction.words(["system"], entry.content));
    case "compaction":
      return words(
        `compaction: ${entry.tokensBefore} to ${entry.tokensAfter ?? "?"} tokens, by ${entry.handledBy ?? entry.origin} · ${id}`,
        redaction.words(["summaries"], entry.summary),
      );
    case "rewind":
      return factsLine([`rewind to ${entry.targetId ?? "the beginning"}`, id]);
    default:
      // Data of the host, which no model saw.
      return "";
  }
}

interface MessagePart {
  title: string;
  kind: RedactedKind;
  text: string;
}

/** The words of a message, part by part. */
function messageParts(message: AgentMessage): MessagePart[] {
  const kind = message.role === "toolResult" ? "results" : message.role;
  const title = message.role === "toolResult" ? `result of ${message.toolName}` : message.role;
  if (typeof message.content === "string") return [{ title, kind, text: message.content }];
  return message.content.map((part) => {
    switch (part.type) {
      case "text":
        return { title, kind, text: part.text };
      case "thinking":
        return { title: `${title}, thinking`, kind, text: part.thinking };
      case "toolCall":
        return {
          title: `${title}, call of ${part.name}`,
          kind,
          text: JSON.stringify(part.arguments, undefined, 2),
        };
      case "image":
        return { title, kind, text: `[image ${part.mimeType}, ${part.data.length} characters of Base64]` };
    }
  });
}
