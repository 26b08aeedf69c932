/** Converts the parts of a user's content to our messages. */
import type { AgentMessage } from "@pagurus/contract/message";
import type { Fields } from "@pagurus/core/data/record-fields";
import type { FunctionCall } from "@pagurus/core/protocols/gemini/gemini-calls";
import { isMedia, resultContent, resultFields, shownPart } from "@pagurus/core/protocols/gemini/gemini-parts";

/**
 * `answered`: for each result the call that it belongs to; undefined for one that is repeated. Results in order, then the user's text
 * and images.
 */
export function userMessages(
  parts: readonly Fields[],
  answered: readonly (FunctionCall | undefined)[],
): AgentMessage[] {
  const results: { result: Fields; media: Fields[] }[] = [];
  const own: Fields[] = [];
  for (const part of parts) {
    const result = resultFields(part);
    const last = results.at(-1);
    if (result) results.push({ result, media: [] });
    // Models before Gemini 3 take a result's images next to it.
    else if (last && own.length === 0 && isMedia(part)) last.media.push(part);
    else own.push(part);
  }
  const messages = results.flatMap(({ result, media }, index): AgentMessage[] => {
    const call = answered[index];
    if (!call) return [];
    return [
      { role: "toolResult", toolCallId: call.id, toolName: call.name, ...resultContent(result, media) },
    ];
  });
  const content = own.map(shownPart).filter((part) => part.type === "image" || part.text !== "");
  return content.length > 0 ? [...messages, { role: "user", content }] : messages;
}
