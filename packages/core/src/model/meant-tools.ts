/** Calls under the names of the offered tools that a model means: a decorated name is refused by providers in later requests. */
import type { AssistantMessage } from "@pagurus/contract/message";
import { meantTool } from "../data/tool-names.ts";

export function withMeantTools(
  message: AssistantMessage,
  tools: readonly { readonly name: string }[],
): AssistantMessage {
  const names = tools.map(({ name }) => name);
  const content = message.content.map((part) => {
    if (part.type !== "toolCall") return part;
    const name = meantTool(part.name, names);
    return name === undefined || name === part.name ? part : { ...part, name };
  });
  return { ...message, content };
}
