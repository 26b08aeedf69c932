import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";

/** The results of a turn's tool calls, as text, in the order in which they ended; an image is its type. */
export function texts(events: readonly TurnEvent[]): string[] {
  return events.flatMap((event) =>
    event.type === "tool.completed"
      ? [event.outcome.content.map((part) => (part.type === "text" ? part.text : part.mimeType)).join(" ")]
      : [],
  );
}
