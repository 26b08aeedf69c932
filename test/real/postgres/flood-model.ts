/** A model that checks each request of a flood of turns: its form, and that it has every earlier word of the session once and in order. */
import { setTimeout as pause } from "node:timers/promises";
import { startServer, type ModelServer, type ReplyStep } from "../../servers/server.ts";
import { readBody, type WireMessage } from "../../turn/wire-bodies.ts";

/** The prompt of a session's post; every fourth asks for a tool. */
export function promptOf(session: string, post: number): string {
  return `[${session} #${post}] ${post % 4 === 1 ? "shell please" : "say it"}`;
}

export function answerOf(session: string, post: number): string {
  return `answer ${session} #${post}`;
}

export interface FloodModel {
  server: ModelServer;
  /** What was wrong with requests, one sentence each. */
  faults: string[];
  /** How often each round of a turn was asked: `<session> <post> <round>`. */
  calls: Map<string, number>;
}

/** Each assistant message with calls is followed by their results, and user and assistant take turns. */
function formFault(messages: readonly WireMessage[]): string | undefined {
  let open: string[] = [];
  let last: WireMessage["role"] = "assistant";
  for (const message of messages) {
    if (message.role === "tool")
      for (const { id } of message.results) {
        if (!open.includes(id)) return `a result of ${id} without its call`;
        open = open.filter((each) => each !== id);
      }
    else {
      if (open.length > 0) return `no result of ${open.join(", ")}`;
      if (message.role === last) return `two ${message.role} messages one after another`;
      open = message.calls.map(({ id }) => id);
    }
    last = message.role;
  }
  if (open.length > 0) return `no result of ${open.join(", ")}`;
  return last === "assistant" ? "the last message is the model's own" : undefined;
}

function orderFault(messages: readonly WireMessage[], session: string): string | undefined {
  const inputs = messages.filter(({ role }) => role === "user").map(({ text }) => text);
  const answers = messages
    .filter(({ role, calls }) => role === "assistant" && calls.length === 0)
    .map(({ text }) => text);
  for (const [at, text] of inputs.entries())
    if (text !== promptOf(session, at)) return `input ${at} is ${text}`;
  if (answers.length !== inputs.length - 1) return `${answers.length} answers to ${inputs.length} inputs`;
  for (const [at, text] of answers.entries())
    if (text !== answerOf(session, at)) return `answer ${at} is ${text}`;
  return undefined;
}

/** Starts it; `thinkMs` gives the time of an answer, ms. */
export async function startFloodModel(thinkMs: () => number): Promise<FloodModel> {
  const faults: string[] = [];
  const calls = new Map<string, number>();
  const server = await startServer({
    protocol: "openai-completions",
    script: async (request, index): Promise<ReplyStep> => {
      const { messages } = readBody("openai-completions", request);
      const at = messages.findLastIndex(({ role }) => role === "user");
      const [, session = "", post = ""] = /^\[(s\d+) #(\d+)\]/.exec(messages[at]?.text ?? "") ?? [];
      const rounds = messages.slice(at).filter(({ role }) => role === "tool").length;
      const fault = formFault(messages) ?? orderFault(messages, session);
      if (fault !== undefined) faults.push(`request ${index} of ${session} #${post}: ${fault}`);
      const name = `${session} ${post} ${rounds}`;
      calls.set(name, (calls.get(name) ?? 0) + 1);
      await pause(thinkMs());
      if (Number(post) % 4 !== 1 || rounds > 0) return { text: answerOf(session, Number(post)) };
      const command = `echo ${session}-${post} >> ran.txt`;
      return { toolCalls: [{ id: `c${index}`, name: "shell", arguments: { command } }] };
    },
  });
  return { server, faults, calls };
}
