/** The way of the user's line: a turn, a command of the page, or a command of the server. */
import type { SlashAnswer, Turn } from "@pagurus/api/types";
import { go } from "../page-route.ts";
import { server } from "../server-calls.ts";
import { workReport } from "../work-report.ts";
import type { Part } from "./attachments.ts";
import { beginFresh } from "./fresh-talks.ts";
import { keepChosen, type Chosen } from "./turn-choices.tsx";

export interface Outgoing {
  agent: string;
  /** Absent for a new conversation. */
  key: string | undefined;
  cwd: string | undefined;
  text: string;
  parts: readonly Part[];
  chosen: Chosen;
  policy: NonNullable<Turn["policy"]>;
  runs: "no" | "here" | "elsewhere";
}

export interface Sent {
  /** A sentence or the text of a command; "" for nothing to say. */
  text: string;
  effects: SlashAnswer["effects"];
}

const COMMAND = /^\/(?:\?|[a-z][\w-]*(?::[\w-]+)*)(?:\s|$)/i;

export function isCommandLine(text: string, parts: readonly Part[]): boolean {
  return parts.length === 0 && COMMAND.test(text);
}

export function placeIdOf(agent: string, key: string | undefined): string {
  return `${agent} ${key ?? ""}`;
}

/** The session of a new conversation, which begins with its first message. */
async function keyOf({ agent, key, cwd, chosen }: Outgoing): Promise<string> {
  if (key !== undefined) return key;
  const made = await server.terminal.claim({ agent, cwd, how: "new" });
  keepChosen(placeIdOf(agent, made.key), chosen);
  return made.key;
}

export async function sendMessage(outgoing: Outgoing): Promise<Sent> {
  const { agent, text, parts, chosen, policy, runs, cwd } = outgoing;
  const key = await keyOf(outgoing);
  if (runs === "elsewhere" && policy === "steer") {
    await server.steer(key, text, { agent });
    return { text: "Added to the turn of another program.", effects: [] };
  }
  if (runs === "elsewhere" && policy === "interrupt") await server.stop(key, { agent });
  const turn: Turn = {
    prompt: text,
    policy,
    ...chosen,
    ...(parts.length === 0 ? {} : { parts: [...parts] }),
    ...(outgoing.key === undefined && cwd !== undefined ? { cwd } : {}),
  };
  const work = await server.postTurn(key, turn, { agent });
  if (outgoing.key === undefined) {
    beginFresh({ agent, key }, work.id);
    go({ page: "talk", agent, key });
  }
  return { text: work.state === "steering" ? "It joins the turn." : "", effects: [] };
}

export async function runLine(outgoing: Outgoing): Promise<Sent> {
  const { agent, text } = outgoing;
  const [, name = "", args = ""] = /^\/(\S+)\s*([\s\S]*)$/.exec(text.trim()) ?? [];
  if (name === "new") {
    go({ page: "home" });
    return { text: "", effects: [] };
  }
  const key = await keyOf(outgoing);
  if (name === "stop") {
    await server.stop(key, { agent });
    return { text: "The turn is being stopped.", effects: [] };
  }
  if (name === "compact") {
    const work = await server.compact(key, args === "" ? {} : { focus: args }, { agent });
    return { text: await workReport(work), effects: [] };
  }
  const answer = await server.slash(key, text.trim(), { agent });
  if (outgoing.key === undefined) go({ page: "talk", agent, key });
  return answer;
}
