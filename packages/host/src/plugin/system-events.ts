/** Texts that plugins queue for the next turn of a session (`runtime.system.enqueueSystemEvent`). */
import type { AdditionalContext } from "@pagurus/contract/fragment";

/** Queue limit per session; the oldest are dropped first. */
const MOST_WAITING = 20;
const MAX_CHARS = 8_000;

interface Waiting {
  pluginId: string;
  text: string;
}

export class SystemEvents {
  readonly #waiting = new Map<string, Waiting[]>();

  /** Queues a text for the session's next turn; a duplicate is ignored. */
  add(pluginId: string, sessionKey: string, text: string): boolean {
    const clean = text.trim().slice(0, MAX_CHARS);
    const waiting = this.#waiting.get(sessionKey) ?? [];
    if (clean === "" || waiting.some((each) => each.pluginId === pluginId && each.text === clean))
      return false;
    this.#waiting.set(sessionKey, [...waiting, { pluginId, text: clean }].slice(-MOST_WAITING));
    return true;
  }

  /**
   * Takes the queued texts of a session, as context of its next turn, one entry per plugin. A plugin's text is data, never the
   * user's. `agent:<id>:<key>` names a session of an agent, as in OpenClaw.
   */
  take(agentId: string, sessionKey: string): AdditionalContext {
    const keys = [sessionKey, `agent:${agentId}:${sessionKey}`];
    const found = keys.flatMap((key) => this.#waiting.get(key) ?? []);
    for (const key of keys) this.#waiting.delete(key);
    const byPlugin = Map.groupBy(found, ({ pluginId }) => pluginId);
    return Object.fromEntries(
      [...byPlugin].map(([pluginId, events]) => [
        `plugin_${pluginId.replaceAll(/[^\w-]/g, "_")}`,
        { value: events.map(({ text }) => text).join("\n"), kind: "untrusted" as const },
      ]),
    );
  }
}
