/** Facts of one session in the list; what its requests took is asked for when its row is in view. */
import type { Session } from "@pagurus/api/types";
import type { SessionUsage } from "@pagurus/api/types";
import { useLoaded } from "./loaded.ts";
import { count, dollars } from "@pagurus/core/data/plain-numbers";
import { oneLine, time } from "./plain-text.ts";
import { server } from "./server-calls.ts";

/** By session and its last use: a row that is scrolled back into view asks nothing. */
const known = new Map<string, SessionUsage>();
const MOST_KNOWN = 2_000;

async function usageOf({ agent, key, updatedAt }: Session, signal: AbortSignal): Promise<SessionUsage> {
  const name = `${agent} ${key} ${updatedAt}`;
  const found = known.get(name) ?? (await server.inspect.usage(key, { agent, signal }));
  known.set(name, found);
  for (const oldest of known.keys()) if (known.size > MOST_KNOWN) known.delete(oldest);
  return found;
}

function usedText({ requests, model, runtime, inputTokens, outputTokens, cost }: SessionUsage): string[] {
  if (requests === 0) return ["no request"];
  const tokens =
    inputTokens + outputTokens > 0 ? `${count(inputTokens)} tokens in, ${count(outputTokens)} out` : "";
  return [model ?? "", runtime ?? "", tokens, cost === undefined ? "" : dollars(cost)];
}

export function SessionFacts({ session }: { session: Session }) {
  const { key, name, title, folder, agent, turns, updatedAt } = session;
  const { value } = useLoaded((signal) => usageOf(session, signal), [agent, key, updatedAt]);
  return (
    <>
      <span class="row-title">{oneLine(name ?? title ?? key)}</span>
      <span class="row-facts">{joined([agent, ...(value ? usedText(value) : [])])}</span>
      <span class="row-facts">
        {joined([time(updatedAt), turns === 1 ? "1 turn" : `${count(turns)} turns`, folder ?? key])}
      </span>
    </>
  );
}

function joined(facts: readonly string[]): string {
  return facts
    .filter((fact) => fact !== "")
    .map(oneLine)
    .join(" · ");
}
