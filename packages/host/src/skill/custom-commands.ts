/** Custom slash commands: Markdown files that a user sends by name, as Claude Code has them. */
import { join, relative, sep } from "node:path";
import { fencedFile } from "@pagurus/contract/fence";
import type {
  CustomCommandFact,
  CustomCommandReport,
  ExpandedCommand,
  SkillFact,
} from "@pagurus/contract/host/skill";
import { readFrontMatter } from "@pagurus/core/data/front-matter";
import { findSkills, type SkillSearch } from "./skill-list.ts";
import { flat, listPlace, readWithin, type Place } from "./skill-places.ts";
import { defined } from "@pagurus/core/data/defined";

/** In a trusted workspace its commands take precedence, may name a model, and are sent as the user's own words. */
export type CommandSearch = SkillSearch;

/** Limit for one place. */
const MOST_FILES = 200;
/** Limit of folders that are searched in one place. */
const MOST_FOLDERS = 200;
/** Depth limit of subfolders: `a:b:c:name` is the deepest. */
const MOST_SUBFOLDERS = 3;
const MOST_BYTES = 64 * 1024;
const MOST_DESCRIPTION = 200;
/** First character of a command name after the slash: a number there is a path or a date. */
const FIRST_NAME = /^[a-z][a-z0-9_-]*$/i;
const NAME = /^[a-z0-9][a-z0-9_-]*$/i;
const MODEL_REF = /^[^/\s]+\/\S+$/;

interface ReadCommand {
  /** Of a folder that is not trusted. */
  isForeign?: boolean;
  fact: CustomCommandFact;
  body: string;
}

interface Found {
  commands: ReadCommand[];
  problems: string[];
}

/** Every command, including those that are not offered. Never throws. */
export function commandReport(search: CommandSearch): CustomCommandReport {
  const { commands, problems } = findCommands(search);
  return { problems, commands: commands.map(({ fact }) => fact) };
}

/** Expands a command; undefined when no offered command has the name. Never throws. */
export function expandCommand(
  search: CommandSearch,
  name: string,
  args: string,
): ExpandedCommand | undefined {
  const wanted = name.toLowerCase();
  const found = findCommands(search).commands.find(
    ({ fact }) => fact.state === "offered" && fact.name === wanted,
  );
  if (!found) return undefined;
  const { model, path } = found.fact;
  if (found.isForeign) {
    const text = withArguments(found.body, args.trim());
    const shown = relative(search.cwd, path).split(sep).join("/");
    return { prompt: fencedFile("command_file", { path: shown, text, trusted: false }), isForeign: true };
  }
  const prompt = withArguments(found.body, args.trim());
  return { prompt, ...defined({ model }) };
}

function findCommands(search: CommandSearch): Found {
  const { cwd, home, trusted } = search;
  const found: Found = { commands: [], problems: [] };
  const project: CommandPlace[] = [".pagurus", ".claude"].map((name) => ({
    folder: join(cwd, name, "commands"),
    within: cwd,
    isForeign: !trusted,
  }));
  const own: CommandPlace = { folder: join(home, "commands"), within: join(home, "commands") };
  for (const place of trusted ? [...project, own] : [own, ...project]) {
    const seen = { files: 0, folders: 0 };
    walk(found, place, [], seen);
    if (seen.files > MOST_FILES)
      found.problems.push(
        `${place.folder} has ${seen.files} Markdown files; only the first ${MOST_FILES} are read.`,
      );
    if (seen.folders > MOST_FOLDERS)
      found.problems.push(
        `${place.folder} has more than ${MOST_FOLDERS} subfolders; only the first ones are searched.`,
      );
  }
  for (const skill of findSkills(search).manual) add(found, commandOfSkill(skill));
  return found;
}

/** A skill that only the person starts. The model reads the file with its tool, as it does for others. */
function commandOfSkill({ name, description, path }: SkillFact): ReadCommand {
  const fact: CustomCommandFact = {
    name,
    description: short(description),
    argumentHint: "",
    path,
    state: "offered",
    notes: [],
  };
  return { fact, body: `Use the skill ${name}: read its file ${path} before you start, and follow it.` };
}

interface CommandPlace extends Place {
  isForeign?: boolean;
}

/** Lists the files of a folder before its subfolders. */
function walk(
  found: Found,
  place: CommandPlace,
  way: readonly string[],
  seen: { files: number; folders: number },
): void {
  const folder = join(place.folder, ...way);
  const listed = listPlace({ folder, within: place.within });
  if (!listed) return;
  if ("problem" in listed) {
    found.problems.push(listed.problem);
    return;
  }
  for (const { name } of listed.entries) {
    if (!name.endsWith(".md")) continue;
    seen.files += 1;
    if (seen.files > MOST_FILES) continue;
    const command = readCommand(join(folder, name), listed.within, [...way, name.slice(0, -".md".length)]);
    if (command) add(found, place.isForeign === true ? foreign(command) : command);
  }
  if (way.length >= MOST_SUBFOLDERS) return;
  for (const entry of listed.entries) {
    // Does not follow links: two of them could form a loop.
    if (!entry.isDirectory() || seen.files > MOST_FILES) continue;
    seen.folders += 1;
    if (seen.folders > MOST_FOLDERS) return;
    walk(found, place, [...way, entry.name], seen);
  }
}

/** A command of a folder that is not trusted chooses no model. */
function foreign({ fact, body }: ReadCommand): ReadCommand {
  const { model, ...rest } = fact;
  const note = `Its model "${model ?? ""}" has no effect until the folder is trusted (pagurus trust add).`;
  return {
    fact: { ...rest, notes: [...rest.notes, ...(model === undefined ? [] : [note])] },
    body,
    isForeign: true,
  };
}

function add({ commands }: Found, command: ReadCommand): void {
  const { fact } = command;
  const first = commands.find(({ fact: { name, state } }) => name === fact.name && state === "offered");
  if (fact.state === "offered" && first) {
    fact.state = "shadowed";
    fact.reason = `${first.fact.path} has the same name and takes precedence.`;
  }
  commands.push(command);
}

function readCommand(path: string, within: string, way: readonly string[]): ReadCommand | undefined {
  const name = way.join(":").toLowerCase();
  const read = readWithin(path, within, MOST_BYTES);
  if (!read) return undefined;
  const plain = { name: flat(name), description: "", argumentHint: "", path, notes: [] };
  const broken = (why: string): ReadCommand => ({
    fact: { ...plain, state: "broken", reason: `${flat(path)} is not used: ${why}.` },
    body: "",
  });
  if ("problem" in read) return broken(read.problem);
  if (!way.every((part, index) => (index === 0 ? FIRST_NAME : NAME).test(part)))
    return broken('names of files and folders are letters, digits, "-" and "_", and begin with a letter');
  if (read.bytes > MOST_BYTES) return broken(`it has ${read.bytes} bytes; the limit is ${MOST_BYTES}`);
  const matter = readFrontMatter(read.text);
  if (matter && "problem" in matter) return broken(matter.problem);
  const fields = matter?.fields;
  const body = (matter?.body ?? read.text.replace(/^\ufeff/, "")).trim();
  if (body === "") return broken("it contains no prompt");
  const model = fields?.get("model");
  const fact: CustomCommandFact = {
    ...plain,
    description: short(fields?.get("description") ?? body.split("\n", 1)[0] ?? ""),
    argumentHint: flat(fields?.get("argument-hint") ?? ""),
    ...(model !== undefined && MODEL_REF.test(model) ? { model } : {}),
    state: "offered",
    notes: notesOn(body, model, fields?.has("allowed-tools") === true),
  };
  return { fact, body };
}

function short(text: string): string {
  const characters = Array.from(flat(text.replace(/^#+ /, "")));
  if (characters.length <= MOST_DESCRIPTION) return characters.join("");
  return `${characters.slice(0, MOST_DESCRIPTION - 1).join("")}…`;
}

function notesOn(body: string, model: string | undefined, allowedTools: boolean): string[] {
  const notes: string[] = [];
  if (/!`[^`\n]+`/.test(body))
    notes.push("It contains !`…`: such a command is not run, the model reads it as it is.");
  if (model !== undefined && !MODEL_REF.test(model))
    notes.push(`Its model "${flat(model)}" is not provider/model and has no effect.`);
  if (allowedTools) notes.push("Its allowed-tools have no effect: the permission rules decide.");
  return notes;
}

const PLACEHOLDER = /(\\?)\$(?:(ARGUMENTS)\b|([1-9])(?!\d))/g;

/**
 * Replaces `$ARGUMENTS` and `$1` to `$9` in one pass, so that inserted text is not expanded again; `\$1` is `$1`. Arguments
 * of a command without a placeholder are appended.
 */
function withArguments(body: string, args: string): string {
  let placed = false;
  const words = wordsOf(args);
  const text = body.replace(
    PLACEHOLDER,
    (whole: string, escape: string, all: string | undefined, digit: string | undefined) => {
      if (escape !== "") return whole.slice(1);
      placed = true;
      return all === undefined ? (words[Number(digit) - 1] ?? "") : args;
    },
  );
  return placed || args === "" ? text : `${text}\n\nARGUMENTS: ${args}`;
}

const WORD = /(?:"[^"]*"|(?<![\p{L}\p{N}])'[^']*'|[^\s"']+|["'])+/gu;
const QUOTED_ARGUMENT = /"([^"]*)"|(?<![\p{L}\p{N}])'([^']*)'/gu;

/** Splits like a shell, quotes only: quoted text is one word. A quote after a letter is an apostrophe. */
function wordsOf(args: string): string[] {
  return [...args.matchAll(WORD)].map(([word]) =>
    word.replace(QUOTED_ARGUMENT, (_, double?: string, single?: string) => double ?? single ?? ""),
  );
}
