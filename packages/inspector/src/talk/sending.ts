/** How the input sends: a message, a message in place of an earlier one, or a command with what it changes in the page. */
import type { Turn } from "@pagurus/api/types";
import type { Action } from "../action-state.ts";
import { go } from "../page-route.ts";
import { server } from "../server-calls.ts";
import type { Part } from "./attachments.ts";
import { isCommandLine, runLine, sendMessage, type Outgoing, type Sent } from "./send-message.ts";
import type { UserItem } from "./talk-items.ts";
import type { Chosen } from "./turn-choices.tsx";

export interface SendingParts {
  action: Action;
  outgoing(text: string, parts: readonly Part[]): Outgoing;
  choose(change: Chosen): void;
  write(text: string): void;
  /** Shows the text of a command. */
  say(text: string): void;
  /** The conversation has another end. */
  onRewound?: (() => Promise<void>) | undefined;
}

export type Send = (text: string, parts: readonly Part[], from?: UserItem) => Promise<boolean>;

export function sending(of: SendingParts): Send {
  const { action, outgoing, say, onRewound } = of;
  return (text, parts, from) =>
    action.run("Sending …", async () => {
      const message = outgoing(text, parts);
      if (isCommandLine(text, parts)) {
        const sent = await runLine(message);
        say(sent.text);
        await applied(sent, message, of);
        return "";
      }
      const { agent, key } = message;
      if (from && key !== undefined) {
        await server.rewind(key, from.before ?? null, { agent });
        await onRewound?.();
      }
      say("");
      return (await sendMessage(message)).text;
    });
}

/** Does in the page what a command asks for. */
async function applied({ effects }: Sent, message: Outgoing, of: SendingParts): Promise<void> {
  const { choose, write, onRewound, outgoing } = of;
  for (const effect of effects) {
    const value = (name: string): string | undefined =>
      typeof effect[name] === "string" ? effect[name] : undefined;
    if (effect.type === "model") choose({ model: value("model") });
    else if (effect.type === "permission") choose({ permission: value("mode") as Turn["permission"] });
    else if (effect.type === "thinking") choose({ thinking: value("thinking") as Turn["thinking"] });
    else if (effect.type === "session")
      go({ page: "talk", agent: message.agent, key: value("sessionKey") ?? "" });
    else if (effect.type === "copy") await navigator.clipboard.writeText(value("text") ?? "");
    else if (effect.type === "prompt") await sendMessage(outgoing(value("prompt") ?? "", []));
    else if (effect.type === "rewound" || effect.type === "renewed") {
      await onRewound?.();
      const text = value("text");
      if (text !== undefined) write(text);
    }
  }
}
