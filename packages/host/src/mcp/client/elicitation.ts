/** Questions that a server asks the person while a tool runs: shown at the door that the turn came through, or declined. */
import type * as Mcp from "@modelcontextprotocol/client";
import type { PermissionAnswer, PermissionQuestion } from "@pagurus/contract/host/run";
import { formContent, formLines, type FormContent } from "@pagurus/core/data/form-text";
import { plainText } from "@pagurus/core/data/plain-text";
import { isRecord, type Fields } from "@pagurus/core/data/record-fields";

/** Asks the person of a call. Absent in a context without one who can answer. */
export type AskPerson = (
  question: Pick<PermissionQuestion, "summary" | "form" | "signal">,
) => Promise<PermissionAnswer>;

export type Answer = { action: "accept"; content?: FormContent } | { action: "decline" | "cancel" };

/** A running call of the server. */
export interface AskingCall {
  sessionKey: string;
  ask: AskPerson | undefined;
  /** Sentences about questions that were declined without the person. */
  declined: string[];
}

const MOST_MESSAGE = 2_000;

function shortenedText(text: string): string {
  return text.length > MOST_MESSAGE ? `${text.slice(0, MOST_MESSAGE).toWellFormed()}…` : text;
}

interface ServerQuestion {
  /** Names the question in a sentence. */
  title: string;
  /** The whole question: some doors show nothing else, and a yes there sends what it shows. */
  summary: string;
  form: Fields | undefined;
}

function serverQuestion(server: string, params: Mcp.ElicitRequestParams): ServerQuestion {
  const title = `The MCP server "${server}" asks: ${shortenedText(plainText(params.message).trim())}`;
  if (params.mode === "url") {
    const address = URL.parse(params.url);
    const host = address ? ` of ${address.host}` : "";
    const open = `Open this address${host}, if you trust it, then answer:`;
    return { title, summary: `${title}\n${open}\n${params.url}`, form: {} };
  }
  const form: unknown = params.requestedSchema;
  if (!isRecord(form)) return { title, summary: title, form: undefined };
  return { title, summary: [title, ...formLines(form).map(plainText)].join("\n"), form };
}

/** The answer in the server's form: `once` accepts the defaults, values are completed with them. */
function answerOf(form: Fields, answer: PermissionAnswer): Answer | { problem: string } {
  if (answer === "deny" || answer === "unasked" || (typeof answer === "object" && "deny" in answer))
    return { action: "decline" };
  const read = formContent(form, typeof answer === "object" ? answer.content : {});
  return "problem" in read ? read : { action: "accept", content: read.content };
}

/**
 * Asks the person whose call is open. The protocol does not say which call a question belongs to: with calls of several sessions at once
 * it is declined, since one session must not see another's question.
 */
export async function askPerson(
  server: string,
  params: Mcp.ElicitRequestParams,
  calls: readonly AskingCall[],
  signal: AbortSignal,
): Promise<Answer> {
  const { title, summary, form } = serverQuestion(server, params);
  const declined = (why: string): Answer => {
    for (const call of calls) call.declined.push(`${title} It was declined: ${why}.`);
    return { action: "decline" };
  };
  const [call] = calls;
  if (!call) return { action: "decline" };
  if (calls.some(({ sessionKey }) => sessionKey !== call.sessionKey))
    return declined("calls of several sessions are running");
  const ask = calls.findLast((each) => each.ask)?.ask;
  if (!ask) return declined("no person can be asked here");
  if (!form) return declined("it has no form");
  try {
    const answer = await ask({ summary, form, signal });
    const reply = answerOf(form, answer);
    if ("problem" in reply) return declined(`the answer cannot be sent: ${reply.problem}`);
    return params.mode === "url" && reply.action === "accept" ? { action: "accept" } : reply;
  } catch {
    return declined("the question was not answered");
  }
}
