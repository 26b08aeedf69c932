/** Sentences for a command line that commander refuses: what is wrong with it, and the command that is right. Loaded for a failure alone. */
import type { Command, CommanderError } from "commander";
import { oneLine } from "@pagurus/host/command/layout";
import { plural } from "@pagurus/core/data/plain-numbers";
import { editDistance } from "@pagurus/core/data/edit-distance";
import { nearest } from "@pagurus/core/platform/nearest";

/** Words for which people of other programs look, and the commands here. */
export const OTHER_WORDS: Readonly<Record<string, string>> = {
  agents: "config get agents",
  ask: 'run "…"',
  claude: "wire -- claude",
  clear: "chat --new",
  copilot: "wire -- copilot",
  cost: "status",
  cron: "jobs list",
  daemon: "serve",
  dashboard: "open",
  delete: "sessions delete",
  env: "config get",
  export: "sessions export",
  extensions: "plugins list",
  find: "sessions search",
  fork: "sessions fork",
  gemini: "wire -- gemini",
  gateway: "serve",
  get: "config get",
  history: "sessions list",
  hooks: "plugins list",
  import: "sessions import",
  list: "sessions list",
  logs: "requests list",
  ls: "sessions list",
  message: 'run "…"',
  "migrate claude": "sessions import ~/.claude/projects",
  "migrate codex": "sessions import ~/.codex/sessions",
  model: "config set agents.defaults.model",
  models: "config set agents.defaults.model",
  new: "chat --new",
  opencode: "wire -- opencode",
  permissions: "config get agents.defaults.permission",
  pi: "wire -- pi",
  print: 'run "…"',
  prompt: 'run "…"',
  qwen: "wire -- qwen",
  query: 'run "…"',
  remove: "plugins uninstall",
  rewind: "sessions rewind",
  search: "sessions search",
  server: "serve",
  session: "sessions list",
  set: "config set",
  settings: "config get",
  show: "sessions show",
  skill: "skills list",
  start: "serve",
  stop: "serve stop",
  ui: "open",
  undo: "sessions rewind",
  usage: "status",
  validate: "config validate",
  version: "--version",
  web: "open",
};

/** Words without a command here. */
const OTHER_ANSWERS: Readonly<Record<string, string>> = {
  logout:
    "Pagurus keeps no login: a key is in the environment or the configuration (pagurus config get models), and a login of Claude Code or Codex ends in that program.",
  update:
    "Pagurus does not update itself; install the new package as you installed this one, with npm install --global.",
};

const SAME_ANSWERS: Readonly<Record<string, string>> = { upgrade: "update", signout: "logout" };

function pathOf(command: Command): string {
  const parent = command.parent;
  return parent ? `${pathOf(parent)} ${command.name()}` : command.name();
}

/** A typed word as it is quoted in a sentence. */
function quoted(word: string): string {
  return JSON.stringify(oneLine(word, 60));
}

/** The words as one text between double quotes of a shell. */
function shellText(words: readonly string[]): string {
  return oneLine(words.join(" "), 60).replaceAll(/["$`\\]/g, "\\$&");
}

function namesOf(command: Command): string[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .flatMap((child) => [child.name(), ...child.aliases()]);
}

/** The text of the options that the word may mean. */
function closeTo(word: string, names: readonly string[]): string[] {
  return nearest(word, names).filter(
    (name) => editDistance(word, name) <= Math.max(1, Math.floor(word.length / 3)),
  );
}

/** Examples in the help of the command and of those above it. */
function examplesOf(command: Command): string[] {
  let text = "";
  for (let at: Command | null = command; at; at = at.parent) {
    at.configureOutput({ writeOut: (more) => void (text += more) });
    at.outputHelp();
  }
  return [...text.matchAll(/^ *\$ (.*?)(?: {2,}#.*)?$/gm)].map(([, line = ""]) => line.trim());
}

/** The right form of the command: an example of it, else its usage. */
function formOf(command: Command): string {
  const path = pathOf(command);
  const example = examplesOf(command).find((line) => `${line} `.startsWith(`${path} `) && line !== path);
  const needed = command.options.filter(({ mandatory }) => mandatory).map(({ flags }) => flags);
  return example ?? [path, ...needed, command.usage().replace(/^\[options\] ?/, "")].join(" ").trim();
}

export function unknownCommand(word: string, command: Command): string {
  const path = pathOf(command);
  const about = `${command.parent ? `${path} has` : "There is"} no command ${quoted(word)}`;
  if (!command.parent) {
    const same = Object.hasOwn(SAME_ANSWERS, word) ? (SAME_ANSWERS[word] ?? word) : word;
    if (Object.hasOwn(OTHER_ANSWERS, same)) return OTHER_ANSWERS[same] ?? "";
    if (Object.hasOwn(OTHER_WORDS, word)) return `${about}; use pagurus ${OTHER_WORDS[word] ?? ""}.`;
  }
  const inside = `${path.replace("pagurus ", "")} ${word}`;
  if (Object.hasOwn(OTHER_WORDS, inside)) return `${about}; use pagurus ${OTHER_WORDS[inside] ?? ""}.`;
  const names = namesOf(command);
  const close = closeTo(word.toLowerCase(), names);
  const [other] = command.parent ? [] : closeTo(word.toLowerCase(), Object.keys(OTHER_WORDS));
  if (close.length > 0)
    return `${about}; did you mean ${close.map((name) => `${path} ${name}`).join(" or ")}?`;
  if (command.parent) return `${about}; it has ${names.filter((name) => name !== "help").join(", ")}.`;
  if (other !== undefined) return `${about}; did you mean pagurus ${OTHER_WORDS[other] ?? ""}?`;
  const words = command.args.length === 0 ? [word] : command.args;
  return `${about}; pagurus run "${shellText(words)}" sends it to the agent, and pagurus --help lists the commands.`;
}

function unknownOption(flag: string, command: Command): string {
  const path = pathOf(command);
  const name = flag.split("=", 1)[0] ?? flag;
  const about = `${path} has no option ${oneLine(name, 60)}`;
  const options = command.createHelp().visibleOptions(command);
  const known = options.flatMap(({ long, short }) => [long, short]).filter((text) => text !== undefined);
  if (known.includes(name)) return `${path}: ${name} takes no value; write ${name} alone.`;
  const close = name.startsWith("--") ? closeTo(name, known) : [];
  if (close.length > 0) return `${about}; did you mean ${close.join(" or ")}?`;
  const before =
    command.parent && rootOf(command).options.find(({ long, short }) => long === name || short === name);
  if (before)
    return `${about}; write it before the command: pagurus ${before.flags} ${path.replace("pagurus ", "")}.`;
  const rest = options.length < 2 ? "it has none" : `${path} --help lists its options`;
  return `${about}; ${rest}.`;
}

function rootOf(command: Command): Command {
  return command.parent ? rootOf(command.parent) : command;
}

/** Arguments that are a text, which a shell splits at its spaces. */
const TEXTS: ReadonlySet<string> = new Set(["prompt", "query", "text", "focus"]);

function tooMany(command: Command): string {
  const path = pathOf(command);
  const { registeredArguments, args } = command;
  const [only] = registeredArguments;
  if (only && registeredArguments.length === 1 && TEXTS.has(only.name()))
    return `${path} takes one text; put it in quotes: ${path} "${shellText(args)}"`;
  const words = args.slice(registeredArguments.length).map(quoted);
  const are = words.length === 1 ? "is" : "are";
  return `${path} takes ${registeredArguments.length === 0 ? "no argument" : plural(registeredArguments.length, "argument")}, and ${words.slice(0, 3).join(", ")} ${are} beyond that; ${path} --help shows the right form.`;
}

function missingArgument(name: string, command: Command): string {
  const argument = command.registeredArguments.find((known) => known.name() === name);
  const about = argument?.description ? ` (${argument.description})` : "";
  return `${pathOf(command)} needs <${name}>${about}, as in: ${formOf(command)}`;
}

/** A value that an option or an argument does not take. `Allowed choices` and what a parser of a value adds say what it takes. */
function invalidValue(message: string, command: Command): string {
  const [, flags, value = "", other = "", argument, more = ""] =
    /^error: (?:option '([^']*)' argument '([^]*?)'|command-argument value '([^]*?)') is invalid(?: for argument '([^']*)')?\.([^]*)$/.exec(
      message,
    ) ?? [];
  const path = pathOf(command);
  if (flags === undefined && argument === undefined) return withHelp(message, command);
  const name = flags === undefined ? `<${argument}>` : (/--[\w-]+/.exec(flags)?.[0] ?? flags);
  const hint = oneLine(more, 300)
    .trim()
    .replace(/\.$/, "")
    .replace(/^Allowed choices are/, "use one of");
  const remedy =
    hint === "" ? `${path} --help shows the right form` : hint.charAt(0).toLowerCase() + hint.slice(1);
  return `${path}: ${quoted(flags === undefined ? other : value)} is not valid for ${name}; ${remedy}.`;
}

/** Commander's own words as a sentence, with what to do. */
function withHelp(message: string, command: Command): string {
  const flat = oneLine(message.replace(/^error: /, ""), 300).trim();
  return `${pathOf(command)}: ${flat.replace(/\.$/, "")}; ${pathOf(command)} --help shows the right form.`;
}

/** One sentence for commander's refusal of this command. */
export function usageSentence({ code, message }: CommanderError, command: Command): string {
  const word = /'([^']*)'/s.exec(message)?.[1] ?? "";
  switch (code) {
    case "commander.unknownCommand":
      return unknownCommand(word, command);
    case "commander.unknownOption":
      return unknownOption(word, command);
    case "commander.excessArguments":
      return tooMany(command);
    case "commander.missingArgument":
      return missingArgument(word, command);
    case "commander.optionMissingArgument":
      return `${pathOf(command)}: the option ${word} needs a value; ${pathOf(command)} --help shows one.`;
    case "commander.missingMandatoryOptionValue":
      return `${pathOf(command)} needs the option ${word}, as in: ${formOf(command)}`;
    case "commander.invalidArgument":
      return invalidValue(message, command);
    default:
      return withHelp(message, command);
  }
}
