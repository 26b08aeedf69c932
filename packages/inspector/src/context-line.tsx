/** How full the session's context is, and at which size it is compacted: the text of the chat and of `pagurus status`. */
import { contextText } from "@pagurus/host/command/context-gauge";
import { useLoaded } from "./loaded.ts";
import { server } from "./server-calls.ts";
import type { SessionPlace } from "./session-events.ts";

/** `version`: changes with what the session has become. */
export function ContextLine({ agent, sessionKey, version }: SessionPlace & { version: string }) {
  const { value } = useLoaded(
    (signal) => server.sessionStatus(sessionKey, { agent, signal }),
    [agent, sessionKey, version],
  );
  return value ? <span> · {contextText(value.context)}</span> : null;
}
