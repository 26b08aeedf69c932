/** Shared parts of the fault tests: a governor that replaces, endpoints that cut answers, and the format of a refusal. */
import assert from "node:assert/strict";
import type { Socket } from "node:net";
import type { WireApi } from "../../packages/contract/src/harness/wire.ts";
import type { Governor } from "../../packages/gateway/src/governor/governor.ts";
import type { RawAnswer } from "./passthrough-setting.ts";
import { chunk, LAST_CHUNK, STREAM_HEAD } from "./server/support.ts";

export const SUMMARY = "The summary of what was before.";

/** Text of the recorded conversations; none of it may be in the log. */
export const SECRET_WORDS = [
  "system-reminder",
  "coding agent",
  "DEVELOPER WORDS",
  "environment_context",
  "test-key",
];

/** Reads all content of the request, and replaces everything before the live turn with a summary. */
export const summing: Pick<Governor, "main" | "compaction"> = {
  main: async ({ items, liveFrom }) => {
    const live = items.slice(liveFrom).flatMap(({ messages }) => [...messages]);
    for (const item of items) void [item.messages, item.isPassing, item.surroundings, item.replacement];
    const summary = { role: "user" as const, content: [{ type: "text" as const, text: SUMMARY }] };
    return { context: { messages: [summary, ...live], historyCount: 1 }, isOriginal: () => true };
  },
  compaction: async () => ({ summary: SUMMARY }),
};

/** A stream with a regular end. */
export function streamed(events: readonly Buffer[]) {
  const bytes = Buffer.concat([Buffer.from(STREAM_HEAD), ...events.map(chunk), Buffer.from(LAST_CHUNK)]);
  return (socket: Socket): void => void socket.write(bytes);
}

/** Returns the fault's message, after checking that it has the dialect's format. */
export function assertFault(api: WireApi, { status, body }: RawAnswer): string {
  assert.ok(status >= 400, `the status is ${status}`);
  const { type, error } = JSON.parse(body.toString()) as { type?: unknown; error?: Record<string, unknown> };
  assert.equal(typeof error?.["message"], "string");
  assert.equal(typeof error?.[api === "google-generative-ai" ? "status" : "type"], "string");
  assert.equal(type, api === "anthropic-messages" ? "error" : undefined);
  return String(error?.["message"]);
}
