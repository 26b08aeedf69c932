/** The homes that the old version makes: engines, compactions, memories, plugins, old keys of the configuration, Codex. */
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ModelServer } from "../../test/servers/server.ts";
import { ROOT } from "../command.ts";
import type { Endpoints } from "./endpoint.ts";
import { HomeUser, type Versions } from "./home-user.ts";
import { makeSession, type OldSession } from "./old-session.ts";

const CODEX = join(ROOT, "test/real/node_modules/.bin/codex");
/** Small enough that a few long prompts exceed it. */
const WINDOW = 16_000;

export interface OldHome {
  user: HomeUser;
  sessions: OldSession[];
  /** Ids of plugins that have to be loaded. */
  plugins?: readonly string[];
  /** The engine lossless has a store here. */
  lossless?: boolean;
  /** Texts that `doctor` has to print about old keys. */
  findings?: readonly RegExp[];
}

function longPrompt(number: number): string {
  const lines = Array.from({ length: 160 }, (_, line) => {
    const ship = `ship ${number * 1_000 + line * 7}`;
    return `At hour ${line % 24} the keeper of the harbour saw ${ship} pass buoy ${(line * 13) % 57} with cargo ${line * number}.`;
  });
  return `Log ${number}. ${lines.join(" ")}`;
}

function provider(server: ModelServer, api: string): object {
  const models = [{ id: "m", contextWindow: WINDOW, maxTokens: 1_000 }];
  return { models: { providers: { local: { api, baseUrl: server.url, apiKey: "test-key", models } } } };
}

function configuration(server: ModelServer, engine: string): object {
  return {
    ...provider(server, "openai-completions"),
    agents: { defaults: { model: "local/m", permission: { mode: "auto" } } },
    plugins: { slots: { contextEngine: engine } },
  };
}

const ASK = ["What does the note say? READ-THE-NOTE", "And who keeps the harbour?"];
const LONG = [1, 2, 3, 4].map(longPrompt);

type Make = (folder: string, endpoints: Endpoints, versions: Versions) => Promise<OldHome | undefined>;

async function losslessSelected(
  folder: string,
  { completions }: Endpoints,
  versions: Versions,
): Promise<OldHome> {
  const user = new HomeUser("lossless", folder, completions, versions);
  user.configure(configuration(completions, "lossless"));
  user.write("work/MEMORY.md", "# Keepers\n\nThe lighthouse keeper is called Orla Venn.\n");
  const sessions = [
    await makeSession(user, { key: "tools", turns: ASK }),
    await makeSession(user, {
      key: "memory",
      turns: ["Who keeps the lighthouse? ASK-THE-MEMORY", "Thanks."],
    }),
    await makeSession(user, {
      key: "packed",
      turns: [...ASK, ...LONG, "Which buoy was first?"],
      compactions: 1,
    }),
  ];
  return { user, sessions, lossless: true };
}

/** Without a configuration file, with the model of the environment. */
async function losslessByDefault(
  folder: string,
  { responses }: Endpoints,
  versions: Versions,
): Promise<OldHome> {
  const env = { OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: responses.url };
  const user = new HomeUser("default", folder, responses, versions, env);
  const sessions = [
    await makeSession(user, { key: "tools", turns: ASK }),
    await makeSession(user, {
      key: "packed",
      turns: [...LONG, ...ASK, "/compact", "Which buoy was first?"],
      compactions: 1,
    }),
  ];
  return { user, sessions, lossless: true };
}

async function legacy(folder: string, { completions }: Endpoints, versions: Versions): Promise<OldHome> {
  const user = new HomeUser("legacy", folder, completions, versions);
  user.configure(configuration(completions, "legacy"));
  const sessions = [
    await makeSession(user, { key: "tools", turns: ASK }),
    await makeSession(user, {
      key: "packed",
      turns: [longPrompt(1), ...ASK, "/compact", longPrompt(2), "Which buoy was first?"],
      compactions: 1,
      compacts: true,
    }),
  ];
  return { user, sessions };
}

/** Keys of earlier configurations, comments, and a key that no version knows. */
async function oldKeys(folder: string, { completions }: Endpoints, versions: Versions): Promise<OldHome> {
  const user = new HomeUser("old-keys", folder, completions, versions);
  const { models } = provider(completions, "openai-completions") as { models: object };
  user.configure(`{
  // The comment of the user.
  models: ${JSON.stringify(models)},
  agents: {
    defaults: {
      model: "local/m",
      permission: { mode: "auto" },
      agentRuntime: { id: "pi" },
      models: { "local/m": { agentRuntime: { id: "auto", fallback: "pi" } } },
    },
    list: [{ id: "main", embeddedHarness: { runtime: "pi" } }],
  },
  plugins: { slots: { contextEngine: "lossless" } },
  channels: { telegram: { enabled: true } },
}
`);
  const sessions = [await makeSession(user, { key: "tools", turns: ASK })];
  return {
    user,
    sessions,
    lossless: true,
    findings: [/agents\.defaults\.agentRuntime/, /embeddedHarness/, /older name of "embedded"/],
  };
}

/** A plugin of the old checkout's examples, made a package, so that it can be installed. */
function packedExample(user: HomeUser, name: string, old: string): string {
  const folder = join(user.root, "downloads", name);
  cpSync(join(old, "examples", name), folder, { recursive: true });
  const manifest = { name, version: "1.0.0", type: "module", main: "index.js" };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  return folder;
}

async function plugins(folder: string, { completions }: Endpoints, versions: Versions): Promise<OldHome> {
  const log = join(folder, "hooks.log");
  const user = new HomeUser("plugins", folder, completions, versions, { HOOK_LOG: log });
  user.configure(configuration(completions, "legacy"));
  const own = (name: string): string => join(import.meta.dirname, "plugins", name);
  await user.old("plugins", "install", packedExample(user, "newest-turns", versions.old), "--enable");
  await user.old("plugins", "install", packedExample(user, "program", versions.old), "--enable");
  for (const name of ["log-hooks", "plain-loop"]) {
    const downloaded = join(user.root, "downloads", name);
    cpSync(own(name), downloaded, { recursive: true });
    await user.old("plugins", "install", ...(name === "plain-loop" ? ["-l"] : []), downloaded, "--enable");
  }
  await user.old("config", "set", "plugins.slots.contextEngine", "newest-turns");
  const sessions = [
    await makeSession(user, { key: "hooks", turns: ASK }),
    await makeSession(user, {
      key: "newest",
      turns: [longPrompt(1), ...ASK, "/compact", longPrompt(2), "Which buoy was first?"],
      compactions: 1,
      compacts: true,
    }),
    await makeSession(user, { key: "program", turns: ASK, options: ["--runtime", "example-program"] }),
    await makeSession(user, {
      key: "loop",
      turns: ["One?", "Two?"],
      options: ["--runtime", "plain-loop"],
      compactions: 2,
    }),
  ];
  if (!readFileSync(log, "utf8").includes("before_tool_call"))
    throw new Error("The hook of the old version did not run.");
  return { user, sessions, plugins: ["newest-turns", "example-program", "log-hooks", "plain-loop"] };
}

/** Codex's own threads and the wire seam, where the program is installed (`npm run setup:real`). */
async function codex(
  folder: string,
  { codex: server }: Endpoints,
  versions: Versions,
): Promise<OldHome | undefined> {
  if (!existsSync(CODEX)) return undefined;
  const user = new HomeUser("codex", folder, server, versions);
  const configure = (context: string): void =>
    user.configure({
      ...provider(server, "openai-responses"),
      agents: {
        defaults: {
          model: "local/m",
          permission: { mode: "auto" },
          models: { "local/m": { agentRuntime: { id: "codex" } } },
        },
      },
      plugins: {
        slots: { contextEngine: "lossless" },
        entries: { codex: { config: { command: CODEX, sandbox: "danger-full-access", context } } },
      },
      gateway: { capture: true },
    });
  configure("thread");
  const sessions = [await makeSession(user, { key: "thread", turns: ASK, thread: true })];
  configure("wire");
  sessions.push(await makeSession(user, { key: "wire", turns: ASK, thread: true }));
  return { user, sessions, lossless: true };
}

export const HOMES: Record<string, Make> = {
  lossless: losslessSelected,
  default: losslessByDefault,
  legacy,
  "old-keys": oldKeys,
  plugins,
  codex,
};
