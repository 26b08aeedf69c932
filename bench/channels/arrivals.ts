/** A model server that notes when a message's words reach it, and messages whose words are a number. */
import { startServer, type ModelServer } from "../../test/servers/server.ts";

export interface Arrivals {
  model: ModelServer;
  /** Resolves with the time of the request that has the message, ms of `performance.now()`. */
  of(message: string): Promise<number>;
}

export async function startArrivals(): Promise<Arrivals> {
  const waiting = new Map<string, (at: number) => void>();
  const model = await startServer({
    protocol: "openai-completions",
    script: (request) => {
      const at = performance.now();
      const last = (request.body["messages"] as { content: unknown }[]).at(-1);
      const [message = ""] = /message-\d+/.exec(JSON.stringify(last?.content)) ?? [];
      waiting.get(message)?.(at);
      waiting.delete(message);
      return { text: "ok" };
    },
  });
  return { model, of: (message) => new Promise((resolve) => waiting.set(message, resolve)) };
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
