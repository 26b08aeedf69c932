import type { PermissionOption } from "@agentclientprotocol/sdk";
import type { AskPermission, PermissionQuestion } from "../../contract/run.ts";
import type { Client } from "./client.ts";
import { kindOf, oneLine, shownResult } from "./tool-calls.ts";

type Answer = Awaited<ReturnType<AskPermission>>;

const ANSWERS: ReadonlySet<string> = new Set<Answer>(["once", "always", "deny"]);

function optionsOf({ rule }: PermissionQuestion): PermissionOption[] {
  const always = rule === undefined ? "Always allow" : `Always allow ${oneLine(rule, 200)}`;
  return [
    { optionId: "once", name: "Allow once", kind: "allow_once" },
    { optionId: "always", name: always, kind: "allow_always" },
    { optionId: "deny", name: "Reject", kind: "reject_once" },
  ];
}

/** A call that the editor shows already. */
export interface AnnouncedCall {
  /** Its id there. */
  shownId: string;
  title: string;
  /** Its content is what would change; the question need not say it again. */
  hasDiff: boolean;
}

/** Asks in the editor. A dialog that the user closes, and an abort, deny. Rejects when the client fails. */
export async function askInEditor(
  client: Client,
  sessionId: string,
  question: PermissionQuestion & { toolCallId: string },
  call: AnnouncedCall | undefined,
): Promise<Answer> {
  const { toolCallId, toolName, summary, preview, signal } = question;
  const text = preview === undefined || preview === summary ? summary : `${summary}\n\n${preview}`;
  const content = call?.hasDiff === true ? {} : { content: shownResult([{ type: "text", text }]) };
  const toolCall = {
    toolCallId,
    title: call?.title ?? oneLine(`${toolName}: ${summary}`, 160),
    name: toolName,
    kind: kindOf(toolName),
    status: "pending" as const,
    ...content,
  };
  const { outcome } = await client.ask({ sessionId, toolCall, options: optionsOf(question) }, signal);
  if (outcome.outcome === "cancelled" || !ANSWERS.has(outcome.optionId)) return "deny";
  return outcome.optionId as Answer;
}
