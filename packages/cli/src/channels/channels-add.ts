import { createInterface, type Interface } from "node:readline";
import { configFile, resolveHome } from "@pagurus/core/config/config-paths";
import { parseValueText, setConfigValue } from "@pagurus/core/config/edit";
import { BUNDLED_CHANNELS, isBundledChannel, type BundledChannel } from "@pagurus/core/config/bundled";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import { loadConfig } from "@pagurus/core/config/load-config";
import { printLine, styleFor, withPagurus, type Cli } from "../cli.ts";
import { EXIT_DONE, usageError } from "../cli-failure.ts";

export interface AddOptions {
  kind?: string;
  /** `key=value` each. */
  set?: string[];
}

interface ChannelKey {
  key: string;
  /** The value that is asked for, in the words of the question. */
  question: string;
  isRequired?: boolean;
  /** Kept as the name of an environment variable. */
  isSecret?: boolean;
  /** Several, separated by commas. */
  isList?: boolean;
  /** As `isList`: each is a key of a map, with the default settings. */
  isMap?: boolean;
}

const COMMON: readonly ChannelKey[] = [
  { key: "allow", question: "Addresses that may speak without a code (comma between them)", isList: true },
];

const KEYS: Readonly<Record<BundledChannel, readonly ChannelKey[]>> = {
  xmpp: [
    { key: "jid", question: "Address of the account, such as crab@example.org", isRequired: true },
    { key: "password", question: "Password", isRequired: true, isSecret: true },
    {
      key: "service",
      question: "Server, such as xmpps://example.org:5223, where it is not that of the address",
    },
  ],
  email: [
    { key: "address", question: "Address of the account, such as crab@example.org", isRequired: true },
    { key: "password", question: "Password", isRequired: true, isSecret: true },
    { key: "imap", question: "Server to read, such as imaps://mail.example.org", isRequired: true },
    { key: "smtp", question: "Server to send, such as smtps://mail.example.org", isRequired: true },
    {
      key: "authserv",
      question:
        "Name that the reading server writes in Authentication-Results; without it no sender is verified",
    },
    { key: "user", question: "Name of the login, where it is not the address" },
  ],
  webhook: [
    { key: "secret", question: "Secret that signs requests", isRequired: true, isSecret: true },
    { key: "url", question: "Address to which answers are sent" },
  ],
  telegram: [{ key: "token", question: "Token of the bot", isRequired: true, isSecret: true }],
  slack: [
    { key: "token", question: "Token of the bot", isRequired: true, isSecret: true },
    { key: "secret", question: "Signing secret of the app", isRequired: true, isSecret: true },
  ],
  discord: [
    { key: "token", question: "Token of the bot", isRequired: true, isSecret: true },
    { key: "groups", question: "Ids of channels where it is spoken to (comma between them)", isMap: true },
  ],
  github: [
    { key: "token", question: "Token of the account", isRequired: true, isSecret: true },
    { key: "secret", question: "Secret of the webhook", isSecret: true },
    {
      key: "groups",
      question: "Repositories, such as boats/harbour (comma between them)",
      isRequired: true,
      isMap: true,
    },
  ],
  irc: [
    { key: "service", question: "Server, such as ircs://irc.example.org:6697", isRequired: true },
    { key: "nick", question: "Nick", isRequired: true },
    { key: "account", question: "Account to log in to (SASL)" },
    { key: "password", question: "Password of the account", isSecret: true },
    { key: "serverPassword", question: "Password of the server", isSecret: true },
    { key: "join", question: "Channels to join, such as #boats (comma between them)", isList: true },
  ],
};

/** Empty for a plugin's kind. */
function keysOf(kind: string): readonly ChannelKey[] {
  return isBundledChannel(kind) ? [...KEYS[kind], ...COMMON] : [];
}

/** How the variable of a secret usually ends. */
const SECRET_NAMES: Readonly<Record<string, string>> = { password: "PASSWORD", token: "TOKEN" };

const VARIABLE_NAME = /^[A-Za-z_]\w*$/;
/** How names of variables are written by convention: another one that is not set may be the secret itself. */
const USUAL_VARIABLE = /^[A-Z][A-Z0-9_]*$/;
const REFERENCE = /\$\{([A-Za-z_]\w*)\}/g;
/** In place of a secret that is not set here while an entry is checked; long enough for every kind. */
const PLACEHOLDER = "x".repeat(64);

/** Questions on the terminal; undefined without one. */
class Questions {
  readonly #cli: Cli;
  readonly #lines: Interface;
  readonly #answers: AsyncIterator<string>;

  private constructor(cli: Cli) {
    this.#cli = cli;
    this.#lines = createInterface({ input: cli.stdin });
    this.#answers = this.#lines[Symbol.asyncIterator]();
  }

  static on(cli: Cli): Questions | undefined {
    return cli.stdin.isTTY === true && cli.stderr.isTTY === true ? new Questions(cli) : undefined;
  }

  /** Empty for a question that is not answered. */
  async ask(question: string): Promise<string> {
    this.#cli.stderr.write(`${styleFor(this.#cli.stderr, this.#cli.env)("bold", question)}: `);
    const { value, done } = await this.#answers.next();
    return done === true ? "" : value.trim();
  }

  /** Whether a name is that of a variable, as far as it can be known here; explains where it is not. */
  acceptsVariable(name: string): boolean {
    const isSet = (this.#cli.env[name] ?? "") !== "";
    if (VARIABLE_NAME.test(name) && (isSet || USUAL_VARIABLE.test(name))) return true;
    if (name !== "")
      this.#cli.stderr.write(
        "That is no environment variable here. Enter the name of a variable, not the secret itself.\n",
      );
    return false;
  }

  close(): void {
    this.#lines.close();
  }
}

type Entry = NonNullable<PagurusConfig["channels"]>[string];

/** Throws `usage_invalid` for a secret that would be written into the file. */
function checkSecrets(values: ReadonlyMap<string, string>, keys: readonly ChannelKey[], id: string): void {
  for (const { key, isSecret } of keys) {
    const value = values.get(key);
    if (isSecret !== true || value === undefined || value.match(REFERENCE)) continue;
    throw usageError(
      `--set ${key}=… would write the secret itself into the configuration; set an environment variable, and use --set '${key}=\${${variableFor(id, key)}}'.`,
    );
  }
}

function variableFor(id: string, key: string): string {
  return `${id.toUpperCase().replaceAll(/\W/g, "_")}_${SECRET_NAMES[key] ?? "SECRET"}`;
}

/** Makes the channel of an entry, as `channels test` does. Returns variables that are not set here. Throws `config_invalid`, and what a plugin throws. */
async function checkEntry(cli: Cli, id: string, entry: Entry): Promise<string[]> {
  const { createChannel } = await import("@pagurus/channels/create-channel");
  const named = [...JSON.stringify(entry).matchAll(REFERENCE)].flatMap(([, name]) => name ?? []);
  const missing = [...new Set(named)].filter((name) => (cli.env[name] ?? "") === "");
  const env = { ...cli.env, ...Object.fromEntries(missing.map((name) => [name, PLACEHOLDER])) };
  if (isBundledChannel(entry.kind ?? "")) await createChannel(id, entry, { env, kinds: [] });
  return missing;
}

function given(options: readonly string[]): Map<string, string> {
  return new Map(
    options.map((option) => {
      const [, key, value] = /^([A-Za-z]+)=([^]*)$/.exec(option) ?? [];
      if (key === undefined || value === undefined)
        throw usageError(`--set takes key=value, and ${JSON.stringify(option)} is none.`);
      return [key, value];
    }),
  );
}

function valueOf(text: string, key: ChannelKey | undefined): unknown {
  // A map can also be one JSON value.
  if (key === undefined || (key.isMap === true && text.startsWith("{"))) return parseValueText(text);
  if (key.isList !== true && key.isMap !== true) return text;
  const all = text
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
  return key.isMap === true ? Object.fromEntries(all.map((each) => [each, {}])) : all;
}

/** Throws `usage_invalid` for a kind that neither this host nor a plugin has: it would only be noticed when it is connected. */
async function checkKind(cli: Cli, kind: string): Promise<void> {
  if (isBundledChannel(kind)) return;
  const own = await withPagurus(cli, async (pagurus) => pagurus.plugins.channels(), { onlyLook: true });
  const kinds = own.map((each) => each.kind);
  if (kinds.includes(kind)) return;
  throw usageError(
    `There is no kind of channel ${JSON.stringify(kind)}; use one of ${[...BUNDLED_CHANNELS, ...kinds].join(", ")}.`,
  );
}

/** An answer to the question for a key; undefined for none. */
async function answerFor(questions: Questions, key: ChannelKey, id: string): Promise<string | undefined> {
  const { question, isRequired = false, isSecret = false } = key;
  const note = isRequired ? "" : " [none]";
  for (;;) {
    const variable = variableFor(id, key.key);
    const asked = isSecret
      ? `${question}: the environment variable that has it, such as ${variable}`
      : question;
    const answer = await questions.ask(`${asked}${note}`);
    if (answer === "" && !isRequired) return undefined;
    if (answer !== "" && !isSecret) return answer;
    if (questions.acceptsVariable(answer)) return `\${${answer}}`;
  }
}

/** `pagurus channels add`. Throws `usage_invalid`, `config_invalid`. */
export async function channelAdd(cli: Cli, id: string, options: AddOptions): Promise<number> {
  const home = resolveHome(cli.env);
  const file = configFile(home);
  if (!/^[\w.-]{1,64}$/.test(id))
    throw usageError(`The name ${JSON.stringify(id)} is not valid; use letters, digits, ".", "-" and "_".`);
  if (loadConfig({ home }).config.channels?.[id])
    throw usageError(
      `The channel ${id} is configured already; pagurus config set channels.${id}.<key> changes it.`,
    );
  const values = given(options.set ?? []);
  const questions = Questions.on(cli);
  try {
    const kind =
      options.kind ??
      (await questions?.ask(`Kind of service (${BUNDLED_CHANNELS.join(", ")}, or one of a plugin)`)) ??
      "";
    if (kind === "")
      throw usageError(
        `Name the kind of service with --kind: ${BUNDLED_CHANNELS.join(", ")}, or one of a plugin.`,
      );
    await checkKind(cli, kind);
    const keys = keysOf(kind);
    for (const key of keys) {
      if (values.has(key.key) || !questions) continue;
      const answer = await answerFor(questions, key, id);
      if (answer !== undefined) values.set(key.key, answer);
    }
    const missing = keys.filter(({ key, isRequired }) => isRequired === true && !values.has(key));
    if (missing.length > 0)
      throw usageError(
        `A channel of the kind ${kind} needs ${missing.map(({ key }) => `--set ${key}=…`).join(" and ")}.`,
      );
    const entries = [...values].map(([key, text]) => [
      key,
      valueOf(
        text,
        keys.find((each) => each.key === key),
      ),
    ]);
    checkSecrets(values, keys, id);
    const entry = { kind, ...Object.fromEntries(entries) } as Entry;
    const warnings: string[] = [];
    for (const name of await checkEntry(cli, id, entry))
      warnings.push(
        `the environment variable ${name}, which channels.${id} names, is not set here; pagurus serve needs it.`,
      );
    warnings.push(...setConfigValue(file, ["channels", id], entry).warnings);
    for (const warning of warnings) printLine(cli.stderr, `warning: ${warning}`);
  } finally {
    questions?.close();
  }
  printLine(
    cli.stdout,
    `The channel ${id} is in ${file}. pagurus channels test ${id} checks it; pagurus serve connects it when it starts.`,
  );
  return EXIT_DONE;
}
