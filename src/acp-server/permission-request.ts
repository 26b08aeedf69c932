import type { PermissionOption } from "@agentclientprotocol/sdk";
import type { PermissionAnswer, PermissionQuestion } from "../contract/host/run.ts";
import type { Client } from "./acp-client.ts";
import { kindOf, oneLine, shownResult } from "./tool-call-updates.ts";

type Answer = Extract<PermissionAnswer, string>;

const ANSWERS: ReadonlySet<string> = new Set<Answer>(["once", "always", "similar", "deny"]);

function optionsOf({ rule, similar }: PermissionQuestion): PermissionOption[] {
  const always = rule === undefined ? "Always allow" : `Always allow ${oneLine(rule, 200)}`;
  return [
    { optionId: "once", name: "Allow once", kind: "allow_once" },
    { optionId: "always", name: always, kind: "allow_always" },
    ...(similar === undefined
      ? []
      : [
          {
            optionId: "similar",
            name: `Always allow ${oneLine(similar, 200)}`,
            kind: "allow_always" as const,
          },
        ]),
    { optionId: "deny", name: "Reject", kind: "reject_once" },
  ];
}

/** A call that the editor already shows. */
export interface AnnouncedCall {
  /** Its id in the editor. */
  shownId: string;
  title: string;
  /** Its content is the change itself; the question need not repeat it. */
  hasDiff: boolean;
}

/** Asks the user in the editor. A closed dialog or an abort denies. Rejects when the client fails. */
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
