/** Harnesses with plausible mistakes, and the checks that must detect them. */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { HarnessTurn } from "../../../packages/contract/src/harness/harness.ts";
import type { AssistantMessage } from "../../../packages/contract/src/message.ts";
import { assembling, bound, ending, inTurns, losing, declaring, type Ended, type Make } from "./making.ts";
import { withoutImages } from "./mutants.ts";
import { EMBEDDED_SURFACES } from "../../../packages/host/src/runtimes/embedded/embedded-harness.ts";

interface NamedMutant {
  create: Make;
  /** Checks that have to fail, among others. */
  seenBy: string[];
  /** Pattern of one of their error sentences. */
  says: RegExp;
}

function assistant(text: string): AssistantMessage {
  return { role: "assistant", content: [{ type: "text", text }], stopReason: "stop" };
}

export const NAMED_MUTANTS: Record<string, NamedMutant> = {
  "drops the images of an input": {
    create: assembling(({ messages }) => ({ messages: messages.map(withoutImages) })),
    seenBy: ["turn.image"],
    says: /image/,
  },
  "records a message twice": {
    create: inTurns(() => (turn) => ({
      emit: async (event) => {
        await turn.io.emit(event);
        if (event.type === "message" && event.message.role === "assistant") await turn.io.emit(event);
      },
    })),
    seenBy: ["record.transcript", "record.after-turn"],
    says: /holds/,
  },
  "answers after an abort": {
    create: ending(async (turn, run) => {
      const ended = await run();
      if (ended.stopReason === "aborted")
        await turn.io.emit({ type: "message", message: assistant("By the way:") });
      return ended;
    }),
    seenBy: ["abort.silent"],
    says: /By the way/,
  },
  "asks the model again after an abort": {
    create: (place) =>
      ending(async (turn, run) => {
        const ended = await run();
        if (ended.stopReason === "aborted") {
          const body = JSON.stringify({ input: [{ type: "message", role: "user", content: turn.turnId }] });
          await fetch(`${place.endpoint.baseUrl}/responses`, { method: "POST", body });
        }
        return ended;
      })(place),
    seenBy: ["abort.silent"],
    says: /request/,
  },
  "writes into the messages that it is given": {
    create: assembling(({ messages }) => {
      for (const message of messages)
        if (message.role === "user" && typeof message.content === "string") message.content += " (seen)";
      messages.splice(0, messages.length, ...messages);
      return {};
    }),
    seenBy: ["engine.untouched"],
    says: /changed/,
  },
  "leaks a random id into its head": {
    create: inTurns(() => {
      const ids = new Map<string, string>();
      return (turn: HarnessTurn) => ({
        assemble: async (request) => {
          const context = await turn.context.assemble(request);
          const id = ids.get(turn.sessionId) ?? randomUUID();
          ids.set(turn.sessionId, id);
          return { ...context, system: `${context.system}\nThread ${id}` };
        },
      });
    }),
    seenBy: ["turn.same-bytes"],
    says: /differ/,
  },
  "swallows what steers a turn": {
    create: (place) => {
      const harness = inTurns(() => () => ({ takeInputs: () => Promise.resolve([]) }))(place);
      const usage = { input: 0, output: 0, totalTokens: 0 };
      const continueWith = (): Promise<Ended> => Promise.resolve({ stopReason: "stop", usage });
      return { ...harness, start: (turn) => ({ ...harness.start(turn), continueWith }) };
    },
    seenBy: ["steer.joins"],
    says: /the input did not reach the model/,
  },
  "forgets message events": {
    create: losing(({ role }) => role !== "user"),
    seenBy: ["record.transcript", "record.events"],
    says: /holds/,
  },
  "calls tools twice": {
    create: inTurns(() => ({ tools }) => ({
      tools: {
        ...bound(tools),
        call: async (call, signal) => {
          await tools.call(call, signal);
          return tools.call(call, signal);
        },
      },
    })),
    seenBy: ["tools.round-trip"],
    says: /called it once/,
  },
  "keeps the permission of an earlier turn": {
    create: inTurns(() => {
      let first: HarnessTurn["tools"] | undefined;
      return ({ tools }) => ({ tools: (first ??= bound(tools)) });
    }),
    seenBy: ["tools.permission"],
    says: /whose permission refuses it/,
  },
  "ignores the signal": {
    create: inTurns(() => () => ({ signal: new AbortController().signal })),
    seenBy: ["abort.in-time"],
    says: /still runs \d+ ms after its abort/,
  },
  "declares a capability that it has not": {
    create: inTurns(() => (turn) => ({
      assemble: async () => {
        const context = await turn.context.assemble();
        return { ...context, messages: context.messages.slice(context.historyCount) };
      },
    })),
    seenBy: ["declared.capabilities"],
    says: /declares assemble-before-prompt, .*, and the run does not show it/,
  },
  "declares less than it does": {
    create: declaring({ capabilities: ["bootstrap", "assemble-before-prompt", "after-turn", "maintain"] }),
    seenBy: ["declared.capabilities"],
    says: /^The run shows compact, thread-bootstrap-projection, and the harness does not declare it\.$/,
  },
  "declares another seam": {
    create: declaring({ seam: "projection" }),
    seenBy: ["declared.seam"],
    says: /declares the seam projection, and the model saw an earlier answer with the role assistant/,
  },
  "denies the hooks that run": {
    create: declaring({ surfaces: { ...EMBEDDED_SURFACES, hostToolHooks: "No." } }),
    seenBy: ["declared.surfaces"],
    says: /declares hostToolHooks as "No\.", and in the run before_tool_call did block a call/,
  },
  "denies the tools that it calls": {
    create: declaring({ surfaces: { ...EMBEDDED_SURFACES, hostTools: "No, it has its own." } }),
    seenBy: ["declared.surfaces"],
    says: /declares hostTools as "No, it has its own\.", and in the run a tool of the host did reach/,
  },
  "leaves a child process": {
    create: ending(async ({ cwd }, run) => {
      spawn("sleep", ["30"], { cwd, stdio: "ignore", detached: true }).unref();
      return run();
    }),
    seenBy: ["end.after-turn"],
    says: /^1 process of the runtime is left after its end: sleep\.$/,
  },
};
