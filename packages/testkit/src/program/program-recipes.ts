/** How the suite has the programs of a user: their settings for a scripted model, the commands of a start, and their shells. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Seam } from "@pagurus/contract/session/receipt";
import type { Protocol } from "../endpoint/script.ts";
import type { SeenRequest } from "../endpoint/seen.ts";
import { defined } from "@pagurus/core/data/defined";

/** A program's folders and model. */
export interface ProgramPlace {
  /** The user's home. */
  home: string;
  /** Address of the model, without a path. */
  origin: string;
  /** Variable with the model's key. */
  keyEnv: string;
}

/** Settings and arguments of a program, for the tests as well. */
export interface ProgramSettings {
  /** Protocol of its model. */
  protocol: Protocol;
  /** Writes its settings into the home; returns its environment. */
  setUp(place: ProgramPlace): Record<string, string>;
  /** Arguments of a start with a prompt; `isNext`: it continues its conversation. */
  argv(prompt: string, isNext: boolean): string[];
  /** Call of its shell with a command. */
  call(command: string): { name: string; arguments: Record<string, unknown> };
}

/** Command lines of a program's user, which run one after the other; the last one has the answer. */
export interface ProgramRecipe extends Pick<ProgramSettings, "protocol" | "setUp" | "call"> {
  /** Where the engine's context reaches the model. */
  seam: Seam;
  /** Pattern of its requests with tools that are beside the conversation. */
  beside?: RegExp;
  prompt(commands: Commands, prompt: string, isNext: boolean): string[][];
  compact(commands: Commands): string[];
  /** Ends a running prompt; absent: Ctrl-C does. */
  cancel?(commands: Commands): string[];
}

interface Commands {
  program: string;
  /** Command line of Pagurus, as `node`, `bin/pagurus.js`. */
  pagurus: readonly string[];
  cwd: string;
}

const MODEL = "m1";
const CONTEXT_WINDOW = 200_000;
const MAX_TOKENS = 8_000;

function write(file: string, content: object): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(content));
}

const SHELL =
  (name: string): ProgramSettings["call"] =>
  (command) => ({ name, arguments: { command, description: "Reads a file" } });

/** The programs of `pagurus wire` whose model can be set without a login. */
export const WIRE_SETTINGS = {
  pi: {
    protocol: "openai-completions",
    setUp: ({ home, origin, keyEnv }) => {
      const model = { id: MODEL, contextWindow: CONTEXT_WINDOW, maxTokens: MAX_TOKENS, input: ["text"] };
      const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
      const mine = {
        baseUrl: `${origin}/v1`,
        api: "openai-completions",
        apiKey: `$${keyEnv}`,
        models: [{ ...model, reasoning: false, cost }],
      };
      write(join(home, ".pi/agent/models.json"), { providers: { mine } });
      write(join(home, ".pi/agent/settings.json"), { defaultProvider: "mine", defaultModel: MODEL });
      return { PI_OFFLINE: "1" };
    },
    argv: (prompt, isNext) => ["-p", ...(isNext ? ["--continue"] : []), prompt],
    call: SHELL("bash"),
  },
  copilot: {
    protocol: "openai-completions",
    setUp: ({ origin }) => ({
      COPILOT_PROVIDER_BASE_URL: `${origin}/v1`,
      COPILOT_PROVIDER_API_KEY: "key-of-test",
      COPILOT_MODEL: MODEL,
      COPILOT_OFFLINE: "true",
    }),
    argv: (prompt, isNext) => ["--allow-all-tools", ...(isNext ? ["--continue"] : []), "-p", prompt],
    call: SHELL("bash"),
  },
  qwen: {
    protocol: "openai-completions",
    setUp: ({ home, origin }) => {
      // With pipes, its default for one prompt, it (0.24.4) reports a command's end before its output is read: 3 of 10 results were empty.
      const shell = { enableInteractiveShell: true };
      const security = { auth: { selectedType: "openai" } };
      write(join(home, ".qwen/settings.json"), { security, tools: { shell } });
      return { OPENAI_API_KEY: "key-of-test", OPENAI_BASE_URL: `${origin}/v1`, OPENAI_MODEL: MODEL };
    },
    argv: (prompt, isNext) => ["-y", ...(isNext ? ["--continue"] : []), "-p", prompt],
    call: SHELL("run_shell_command"),
  },
  gemini: {
    protocol: "google",
    setUp: ({ home, origin }) => {
      write(join(home, ".gemini/settings.json"), {
        security: { auth: { selectedType: "gemini-api-key" } },
        general: { enableAutoUpdate: false },
      });
      return {
        GEMINI_API_KEY: "key-of-test",
        GOOGLE_GEMINI_BASE_URL: origin,
        GEMINI_CLI_TRUST_WORKSPACE: "true",
      };
    },
    argv: (prompt, isNext) => {
      const resumed = isNext ? ["--resume", "latest"] : [];
      return ["-y", "-m", "gemini-2.5-pro", ...resumed, "-p", prompt];
    },
    call: SHELL("run_shell_command"),
  },
  opencode: {
    protocol: "anthropic-messages",
    setUp: ({ home, origin, keyEnv }) => {
      const model = { name: MODEL, tool_call: true, limit: { context: CONTEXT_WINDOW, output: MAX_TOKENS } };
      const options = { baseURL: `${origin}/v1`, apiKey: `{env:${keyEnv}}` };
      write(join(home, ".config/opencode/opencode.json"), {
        autoupdate: false,
        model: `mine/${MODEL}`,
        small_model: `mine/${MODEL}`,
        provider: { mine: { npm: "@ai-sdk/anthropic", options, models: { [MODEL]: model } } },
      });
      return { OPENCODE_DISABLE_MODELS_FETCH: "1" };
    },
    argv: (prompt, isNext) => ["run", ...(isNext ? ["--continue"] : []), prompt],
    call: SHELL("bash"),
  },
} as const satisfies Record<string, ProgramSettings>;

/** Requests with tools that are beside the conversation. */
const BESIDE: Partial<Record<keyof typeof WIRE_SETTINGS, RegExp>> = {
  qwen: /managed memory extraction subagent/,
};

/** A program under `pagurus wire`. */
function wrapped(id: keyof typeof WIRE_SETTINGS): ProgramRecipe {
  const { argv, ...settings }: ProgramSettings = WIRE_SETTINGS[id];
  const beside = BESIDE[id];
  return {
    ...settings,
    seam: "wire",
    ...defined({ beside }),
    prompt: ({ pagurus, program }, prompt, isNext) => [
      [...pagurus, "wire", "--engine", "lossless", "--", program, ...argv(prompt, isNext)],
    ],
    compact: ({ pagurus }) => [...pagurus, "compact"],
  };
}

/** acpx, an independent client, with `pagurus acp` as its agent; the loop is the host's. */
const ACPX: ProgramRecipe = {
  protocol: "anthropic-messages",
  seam: "embedded",
  setUp: () => ({}),
  call: (command) => ({ name: "shell", arguments: { command } }),
  prompt: (commands, prompt, isNext) => [
    ...(isNext ? [] : [acpx(commands, "sessions", "new")]),
    acpx(commands, "--approve-all", "prompt", prompt),
  ],
  compact: (commands) => acpx(commands, "prompt", "/compact"),
  // Ctrl-C ends only the client; its background process finishes the prompt.
  cancel: (commands) => acpx(commands, "cancel"),
};

/** Its background process ends one second after a prompt, so that each prompt starts the agent again. */
function acpx({ program, pagurus, cwd }: Commands, ...args: string[]): string[] {
  return [program, "--agent", [...pagurus, "acp"].join(" "), "--cwd", cwd, "--ttl", "1", ...args];
}

const RECIPES: Readonly<Record<string, ProgramRecipe>> = {
  ...Object.fromEntries(
    (Object.keys(WIRE_SETTINGS) as (keyof typeof WIRE_SETTINGS)[]).map((id) => [id, wrapped(id)]),
  ),
  acpx: ACPX,
};

/** The recipe of a program, by its name; undefined for one that the suite does not know. */
export function programRecipe(id: string): ProgramRecipe | undefined {
  return Object.hasOwn(RECIPES, id) ? RECIPES[id] : undefined;
}

/** Whether a request is of the conversation itself: programs offer their tools there, and not for titles and summaries. */
export function isOfConversation({ beside }: ProgramRecipe, { items, tools }: SeenRequest): boolean {
  return tools.length > 0 && !(beside && items.some(({ text }) => beside.test(text)));
}
