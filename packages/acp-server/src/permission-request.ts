import type { PermissionOption } from "@agentclientprotocol/sdk";
import type { Authority } from "@pagurus/contract/host/authority";
import type { PermissionAnswer, PermissionQuestion } from "@pagurus/contract/host/run";
import type { Client } from "./acp-client.ts";
import { kindOf, oneLine, shownResult } from "./tool-call-updates.ts";

type Answer = Extract<PermissionAnswer, string> | { content: Record<string, unknown> };

const ANSWERS: ReadonlySet<string> = new Set<Extract<PermissionAnswer, string>>([
  "once",
  "always",
  "similar",
  "deny",
]);

function optionsOf(
  { rule, similar, form, accept }: PermissionQuestion,
  { mayRemember }: Pick<Authority, "mayRemember">,
): PermissionOption[] {
  const always = rule === undefined ? "Always allow" : `Always allow ${oneLine(rule, 200)}`;
  const once: PermissionOption = { optionId: "once", name: "Allow once", kind: "allow_once" };
  const deny: PermissionOption = { optionId: "deny", name: "Reject", kind: "reject_once" };
  if (accept) return mayRemember ? [{ ...once, name: accept.label }, deny] : [deny];
  if (form) return [{ ...once, name: "Send these values" }, deny];
  if (!mayRemember) return [once, deny];
  return [
    once,
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
    deny,
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
  { call, authority }: { call: AnnouncedCall | undefined; authority: Pick<Authority, "mayRemember"> },
): Promise<Answer> {
  const { toolCallId, toolName, summary, preview, accept, signal } = question;
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
  const options = optionsOf(question, authority);
  const { outcome } = await client.ask({ sessionId, toolCall, options }, signal);
  if (outcome.outcome === "cancelled" || !ANSWERS.has(outcome.optionId)) return "deny";
  // An answer that was not offered is none.
  if (!options.some(({ optionId }) => optionId === outcome.optionId)) return "deny";
  return accept && outcome.optionId === "once"
    ? { content: accept.content }
    : (outcome.optionId as Extract<PermissionAnswer, string>);
}
