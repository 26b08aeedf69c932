/** The programs of a trial: how a user has each with Pagurus, and how its orders are typed. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Protocol } from "../../servers/server.ts";
import { PROGRAM_CASES, type ProgramCase } from "../wire/programs-table.ts";
import { AcpxClient } from "./acpx-client.ts";
import { prompt, type ShellCall } from "./order-model.ts";
import { TrialPlace, type TrialPlaceOptions } from "./trial-place.ts";

export const SUBJECT_IDS = [
  "codex",
  "claude",
  "pi",
  "opencode",
  "acpx",
  "codex-acp",
  "claude-agent-acp",
] as const;
export type SubjectId = (typeof SUBJECT_IDS)[number];

/** A conversation with the program. */
export interface Talk {
  place: TrialPlace;
  /** Orders 0 to `turns`, with a compaction before the last. */
  begin(turns: number): Promise<void>;
  /** One more order, in a new process. */
  resume(order: number): Promise<void>;
  /** Words of a request that follows from the program's own compaction. */
  own?: RegExp;
}

export interface Subject {
  /** How a user has it, for the table. */
  way: string;
  /** Configuration of the runtime that `pagurus runtimes test` runs; absent for a program without one. */
  runtime?(command: string): { id: string; entries: Record<string, unknown> };
  open(command: string, turns: number): Promise<Talk>;
}

const SHELL =
  (name: string): ShellCall =>
  (command) => ({ name, arguments: { command, description: "Looks after a berth" } });
const EXEC: ShellCall = (command) => ({ name: "exec_command", arguments: { cmd: command } });

const OWN_SHELL: ShellCall = (command) => ({ name: "shell", arguments: { command } });

/** Orders are typed into `pagurus chat`, and the last into `pagurus run`. */
async function chat(options: TrialPlaceOptions): Promise<Talk> {
  const place = await TrialPlace.open(options);
  return {
    place,
    begin: async (turns) => {
      const orders = Array.from({ length: turns }, (_, order) => prompt(order));
      const lines = [...orders, "/compact", prompt(turns)];
      await place.pagurus(["chat"], { input: lines.map((line) => `${line}\n`).join("") });
    },
    resume: async (order) => void (await place.pagurus(["run", "--continue", "--", prompt(order)])),
  };
}

interface RuntimeCase {
  protocol: Protocol;
  call: ShellCall;
  id: string;
  agentId?: string;
  config(command: string): Record<string, unknown>;
}

function runtime(way: string, { protocol, call, id, agentId, config }: RuntimeCase): Subject {
  const entriesFor = (command: string): Record<string, unknown> => ({ [id]: { config: config(command) } });
  return {
    way,
    runtime: (command) => ({ id, entries: entriesFor(command) }),
    open: (command) => {
      const agentRuntime = { id, ...(agentId === undefined ? {} : { agentId }) };
      return chat({ protocol, call, agentRuntime, entries: entriesFor(command) });
    },
  };
}

interface WrappedCase {
  /** Reported for the order after the engine's compaction: the program's window is full, and it compacts, too. */
  tokens: number;
  own: RegExp;
  /** Settings besides those of the table of programs. */
  prepare?(home: string): void;
}

/** Each order is a start of the program. The user has the engine compact, and then the program compacts by itself. */
function wrapped(id: "opencode" | "pi", { tokens, prepare, own }: WrappedCase): Subject {
  return {
    way: `\`pagurus wire -- ${id}\``,
    open: async (command, turns) => {
      const { protocol, call, setUp, argv } = PROGRAM_CASES.find((each) => each.id === id) as ProgramCase;
      const place = await TrialPlace.open({ protocol, call, full: { order: turns, tokens } });
      const home = place.setting.root;
      const env = setUp({ home, url: place.url });
      prepare?.(home);
      const start = async (order: number): Promise<void> => {
        const args = ["wire", "--engine", "lossless", "--", command, ...argv(prompt(order), order > 0)];
        await place.pagurus(args, { env });
      };
      return {
        place,
        begin: async () => {
          for (let order = 0; order < turns; order += 1) await start(order);
          await place.pagurus(["compact"], { env });
          await start(turns);
        },
        resume: start,
        own,
      };
    },
  };
}

const PI: WrappedCase = {
  tokens: 195_000,
  own: /You are a context summarization assistant/,
  prepare: (home) => {
    const file = join(home, ".pi/agent/settings.json");
    // By default it keeps 20,000 tokens from a compaction.
    const compaction = { enabled: true, reserveTokens: 10_000, keepRecentTokens: 200 };
    const settings = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
    writeFileSync(file, JSON.stringify({ ...settings, compaction }));
  },
};

const OPENCODE: WrappedCase = { tokens: 198_000, own: /Continue if you have next steps/ };

/** A client of `pagurus acp`. */
const ACPX: Subject = {
  way: "client of `pagurus acp`",
  open: async (command) => {
    const place = await TrialPlace.open({ protocol: "anthropic-messages", call: OWN_SHELL });
    const client = new AcpxClient(command, place.setting);
    const say = async (text: string): Promise<void> =>
      void (await client.done("--approve-all", "prompt", text));
    return {
      place,
      begin: async (turns) => {
        await client.done("sessions", "new");
        for (let order = 0; order < turns; order += 1) await say(prompt(order));
        await say("/compact");
        await say(prompt(turns));
      },
      resume: async (order) => {
        await client.ended();
        await say(prompt(order));
        await client.run("sessions", "close");
        await client.ended();
      },
    };
  },
};

export const SUBJECTS: Readonly<Record<SubjectId, Subject>> = {
  codex: runtime("runtime `codex`", {
    protocol: "openai-responses",
    call: EXEC,
    id: "codex",
    config: (command) => ({ command, sandbox: "danger-full-access" }),
  }),
  claude: runtime("runtime `claude-cli`", {
    protocol: "anthropic-messages",
    call: SHELL("Bash"),
    id: "claude-cli",
    config: (command) => ({ command }),
  }),
  pi: wrapped("pi", PI),
  opencode: wrapped("opencode", OPENCODE),
  acpx: ACPX,
  "codex-acp": runtime("agent of the runtime `acp`", {
    protocol: "openai-responses",
    call: EXEC,
    id: "acp",
    agentId: "codex",
    config: (command) => ({ agentId: "codex", agents: { codex: { command, mode: "agent-full-access" } } }),
  }),
  "claude-agent-acp": runtime("agent of the runtime `acp`", {
    protocol: "anthropic-messages",
    call: SHELL("Bash"),
    id: "acp",
    agentId: "claude",
    // Claude Code requires the variable when it runs as root.
    config: (command) => ({ agentId: "claude", agents: { claude: { command, env: { IS_SANDBOX: "1" } } } }),
  }),
};
