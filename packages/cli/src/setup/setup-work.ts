/** `pagurus setup`: looks, asks, and after a yes writes, imports and opens a chat. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { configFile, resolveHome } from "@pagurus/core/config/config-paths";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import { parseJson5 } from "@pagurus/core/config/json5";
import { formatKeyPath } from "@pagurus/core/config/key-path";
import { configFromValue, loadConfig, readConfigText } from "@pagurus/core/config/load-config";
import { attempt } from "@pagurus/core/data/attempt";
import { plural } from "@pagurus/core/data/plain-numbers";
import { table } from "@pagurus/host/command/layout";
import { KNOWN_PROVIDERS } from "@pagurus/core/model/model-catalog";
import { chat } from "../chat/chat-loop.ts";
import { isFullTerminal } from "../chat/view-choice.ts";
import { printLine, styleFor, type Cli } from "../cli.ts";
import { EXIT_DONE } from "../cli-failure.ts";
import { withServer } from "../server/server-choice.ts";
import { residentProblem } from "@pagurus/server/resident-place";
import type { Conversations } from "./agent-places.ts";
import { isTried, problemOf } from "./check-choice.ts";
import { importConversations } from "./import-conversations.ts";
import { PlainForm } from "./plain-form.ts";
import type { FormRow, SetupForm } from "./setup-form.ts";
import { SetupRecord } from "./setup-record.ts";
import { choiceCommands, importCommand, survey, type Choice, type Setting, type Survey } from "./survey.ts";
import { defined } from "@pagurus/core/data/defined";

export interface SetupOptions {
  undo?: boolean;
  /** A bare `pagurus` in a new home: leaving opens the chat. */
  first?: boolean;
}

/** The configuration, without the cache that `loadConfig` writes. Throws `config_invalid`. */
function configIn(home: string): PagurusConfig {
  const text = readConfigText(configFile(home));
  if (text === undefined) return configFromValue({}, home).config;
  return (
    attempt(() => configFromValue(parseJson5(text, configFile(home)), home).config) ??
    // Names the file and the place of its problem.
    loadConfig({ home }).config
  );
}

/** `pagurus setup`. Throws `config_invalid` for a broken configuration. */
export async function setup(cli: Cli, options: SetupOptions): Promise<number> {
  const home = resolveHome(cli.env);
  if (options.undo === true) {
    const { undoSetup } = await import("./undo-setup.ts");
    return await undoSetup(cli, home);
  }
  const config = configIn(home);
  const seen = await survey(config, cli.env);
  if (cli.stdin.isTTY !== true || cli.stdout.isTTY !== true) return printed(cli, seen);
  const form = await formFor(cli);
  const style = styleFor(cli.stdout, cli.env);
  form.print(style("bold", "Pagurus keeps a conversation and changes its agent."));
  form.print();
  showFound(form, seen);
  const plan = await askedThrough(cli, { form, seen, config, home });
  if (plan === undefined) {
    form.print("Nothing was written; pagurus setup asks again.");
    return options.first === true ? await chat(withServer(cli, ["chat"], {}), {}) : EXIT_DONE;
  }
  const lines = await carriedOut(cli, { form, plan, home });
  for (const line of lines) form.print(style("dim", line));
  const { kind, agent } = plan.choice;
  if (kind === "wire" && agent) return await (await import("../wire/wire-work.ts")).wire(cli, [agent.id], {});
  return await chat(withServer(cli, ["chat"], {}), { new: true }, { suggestion: suggestionIn(cli.cwd) });
}

async function formFor(cli: Cli): Promise<SetupForm> {
  if (!isFullTerminal(cli)) return new PlainForm(cli);
  const { TerminalForm } = await import("./terminal-form.ts");
  return new TerminalForm(cli);
}

function showFound(form: SetupForm, { found }: Survey): void {
  if (found.length === 0) form.print("No agent, key, local server or conversation was found here.");
  else form.print("Found here:");
  for (const line of foundLines(found)) form.print(`  ${line}`);
  form.print();
}

function foundLines(found: Survey["found"]): string[] {
  const [first, ...rest] = found;
  return first ? table(first, rest) : [];
}

interface Plan {
  choice: Choice;
  /** Content of a key file. */
  keyFile?: { path: string; content: string };
  conversations: readonly Conversations[];
}

interface Asking {
  form: SetupForm;
  seen: Survey;
  config: PagurusConfig;
  home: string;
}

/** All questions; gives the terminal back whatever happens. */
async function askedThrough(cli: Cli, asking: Asking): Promise<Plan | undefined> {
  try {
    return await planned(cli, asking);
  } finally {
    await asking.form.close();
  }
}

/** The person's choices; undefined when they leave or say no. */
async function planned(cli: Cli, asking: Asking): Promise<Plan | undefined> {
  const { form, seen, config, home } = asking;
  const model = await modelChoice(cli, asking);
  if (model === undefined) return undefined;
  const conversations = await conversationChoice(form, seen.conversations);
  if (conversations === undefined) return undefined;
  const resident = withResident(model.choice, config, home);
  const choice = seen.conversations.length > 0 ? withKeeper(resident, config) : resident;
  const plan = { ...model, choice, conversations };
  const changes = changesOf(plan, home);
  if (changes.length === 0) return plan;
  form.print();
  form.print("This will be written:");
  for (const line of changes) form.print(`  ${line}`);
  form.print("pagurus setup --undo takes it back.");
  const answer = await form.pick("Write it?", [
    { key: "y", label: "Yes" },
    { key: "n", label: "No, write nothing" },
  ]);
  return answer === 0 ? plan : undefined;
}

/** The choice with the host that makes later commands fast, where one can run and the user has not decided. */
function withResident(choice: Choice, { server }: PagurusConfig, home: string): Choice {
  const isDecided = server?.resident !== undefined || residentProblem(home) !== undefined;
  if (isDecided || choice.settings.length === 0) return choice;
  return { ...choice, settings: [...choice.settings, { path: ["server", "resident"], value: true }] };
}

/** The choice with a resident host that keeps the conversations of the agents that were found. */
function withKeeper(choice: Choice, { keeper, server }: PagurusConfig): Choice {
  const isResident =
    server?.resident === true || choice.settings.some(({ path }) => path.join(".") === "server.resident");
  if (keeper?.enabled !== undefined || !isResident || choice.settings.length === 0) return choice;
  return { ...choice, settings: [...choice.settings, { path: ["keeper", "enabled"], value: true }] };
}

/** Asks until a choice works. */
async function modelChoice(
  cli: Cli,
  { form, seen, config, home }: Asking,
): Promise<Omit<Plan, "conversations"> | undefined> {
  const choices = seen.choices.filter(({ kind }) => kind !== "paste" || form.hides);
  if (!form.hides) form.print(`To use a key of yours, leave and set ${KEY_NAMES.join(", ")}.`);
  for (;;) {
    const index = await form.pick("Who answers?", numbered(choices));
    const chosen = index === undefined ? undefined : choices[index];
    if (chosen === undefined) return undefined;
    const picked = chosen.kind === "paste" ? await pasted(form, home) : { choice: chosen };
    if (picked === undefined) continue;
    if (isTried(picked.choice)) form.print(styleFor(cli.stdout, cli.env)("dim", "Trying it…"));
    const problem = await problemOf(picked.choice, withKey(config, picked), cli.env);
    if (problem === undefined) return picked;
    form.print(styleFor(cli.stdout, cli.env)("yellow", problem));
  }
}

/** The configuration with a pasted key in it, for the trial. */
function withKey(config: PagurusConfig, { choice, keyFile }: Omit<Plan, "conversations">): PagurusConfig {
  const provider = choice.ref?.split("/")[0];
  if (keyFile === undefined || provider === undefined) return config;
  const { models } = config;
  const entry = { ...models?.providers?.[provider], apiKey: keyFile.content };
  return { ...config, models: { ...models, providers: { ...models?.providers, [provider]: entry } } };
}

/** First variable of each provider that has a default model, for example "ANTHROPIC_API_KEY". */
const KEY_NAMES = Object.values(KNOWN_PROVIDERS).flatMap(({ keyEnv: [name], defaultModel }) =>
  name === undefined || defaultModel === undefined ? [] : [name],
);

/** Keys of rows; q leaves. */
const KEYS = "123456789abcdefghijklmnoprstuvwxyz";

function numbered(choices: readonly { label: string; detail?: string }[]): FormRow[] {
  return choices.map(({ label, detail }, index) => ({
    key: KEYS[index] ?? "",
    label,
    ...defined({ detail }),
  }));
}

async function pasted(form: SetupForm, home: string): Promise<Omit<Plan, "conversations"> | undefined> {
  const providers = Object.entries(KNOWN_PROVIDERS).filter(
    ([, { keyEnv, defaultModel }]) => keyEnv.length > 0 && defaultModel !== undefined,
  );
  const rows = providers.map(([id, { defaultModel = "" }]) => ({ label: id, detail: defaultModel }));
  const index = await form.pick("Whose key?", numbered(rows));
  const [id, known] = (index === undefined ? undefined : providers[index]) ?? [];
  if (id === undefined || known?.defaultModel === undefined) return undefined;
  const key = await form.secret(`Key of ${id}`);
  if (key === undefined || key === "") return undefined;
  const ref = `${id}/${known.defaultModel}`;
  const path = join(home, "keys", id);
  const settings: Setting[] = [
    { path: ["models", "providers", id, "apiKey"], value: { file: path } },
    { path: ["agents", "defaults", "model"], value: ref },
  ];
  const choice: Choice = { kind: "paste", label: `A key of ${id}`, detail: ref, ref, settings };
  return { choice, keyFile: { path, content: key } };
}

async function conversationChoice(
  form: SetupForm,
  found: readonly Conversations[],
): Promise<readonly Conversations[] | undefined> {
  if (found.length === 0) return [];
  const size = (each: readonly Conversations[]): string =>
    plural(
      each.reduce((sum, { files }) => sum + files.length, 0),
      "conversation",
    );
  const single = found.length > 1 ? found.map((each) => [each]) : [];
  const sets = [found, ...single, []];
  const rows = sets.map((each, index) => {
    if (each.length === 0) return { key: "n", label: "None" };
    const names = each.map(({ label }) => label).join(", ");
    if (index === 0) return { key: "y", label: `All of ${names}`, detail: size(each) };
    return { key: String(index), label: `Only ${names}`, detail: size(each) };
  });
  const index = await form.pick("Bring conversations along? They are copied; the originals stay.", rows);
  return index === undefined ? undefined : sets[index];
}

/** Lines of what a yes writes. */
function changesOf({ choice, keyFile, conversations }: Plan, home: string): string[] {
  const settings = choice.settings.map(
    ({ path, value }) =>
      `  ${formatKeyPath(path)} = ${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return [
    ...(keyFile === undefined ? [] : [`${keyFile.path}: the key, readable by you alone`]),
    ...(settings.length === 0 ? [] : [configFile(home), ...settings]),
    ...conversations.map(
      ({ label, files }) => `${home}: ${plural(files.length, "conversation")} of ${label}`,
    ),
  ];
}

async function carriedOut(
  cli: Cli,
  { form, plan, home }: { form: SetupForm; plan: Plan; home: string },
): Promise<string[]> {
  const { choice, keyFile, conversations } = plan;
  if (changesOf(plan, home).length === 0) return [];
  const record = SetupRecord.begin(home, new Date());
  if (keyFile) record.write(keyFile.path, keyFile.content);
  if (choice.settings.length > 0) record.configure(home, choice.settings);
  if (conversations.length === 0) return [];
  const lines = await importConversations(cli, { form, record, chosen: conversations });
  return [...lines, "/resume picks one of them, pagurus sessions search finds words in all."];
}

/** Something to try in the folder. */
function suggestionIn(cwd: string): string {
  const names = attempt(() => readdirSync(cwd)) ?? [];
  const readme = names.find((name) => /^readme(\.\w+)?$/i.test(name));
  return readme === undefined ? "What is in this folder?" : `How do I run the tests? @${readme}`;
}

/** Without a terminal: what was found, and the commands that set it up. */
function printed(cli: Cli, { found, choices, conversations }: Survey): number {
  const lines = foundLines(found);
  printLine(
    cli.stdout,
    lines.length > 0 ? lines.join("\n") : "No agent, key, local server or conversation was found.",
  );
  const usable = choices.filter((each) => choiceCommands(each).length > 0);
  for (const [index, each] of usable.entries()) {
    printLine(cli.stdout, `\n# ${index === 0 ? "" : "or "}${each.label}: ${each.detail}`);
    for (const line of choiceCommands(each)) printLine(cli.stdout, line);
  }
  if (usable.length === 0)
    printLine(
      cli.stdout,
      `\n# a model: set one of these, or start Ollama or LM Studio\nexport ${KEY_NAMES[0]}=…  # or ${KEY_NAMES.slice(1).join(", ")}`,
    );
  for (const each of conversations) {
    printLine(cli.stdout, `\n# ${plural(each.files.length, "conversation")} of ${each.label}`);
    printLine(cli.stdout, importCommand(each));
  }
  printLine(cli.stdout, '\n# try it\npagurus run "What is in this folder?"');
  return EXIT_DONE;
}
