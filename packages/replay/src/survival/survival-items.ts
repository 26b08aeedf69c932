/**
 * Facts of a session that an agent may need again: decisions of the user, commands, paths, error lines, numbers. Found by rules of their
 * own: an engine that is measured must not choose what it is measured by.
 */
import type { AgentMessage, AssistantMessage } from "@pagurus/contract/message";
import type { Pace } from "@pagurus/core/platform/pace";

export const ITEM_KINDS = ["decisions", "commands", "paths", "error lines", "numbers"] as const;
export type ItemKind = (typeof ITEM_KINDS)[number];

export interface SurvivalItem {
  kind: ItemKind;
  /** What has to be found, on one line. */
  text: string;
  /** Words by which an agent that does not see it would look for it; never the text itself. */
  query: string;
  /** Index of the first message that has it. */
  at: number;
}

const LONGEST = 240;
/** Words of the shortest text that a part of its words can be searched by. */
const LEAST_WORDS = 4;
const DECIDES =
  /\b(?:use|using|do not|don['’]t|never|always|must|should|instead|only|keep|prefer|let['’]s|we(?:['’]ll| will)|i want|go with|decided?|no longer|make sure|avoid|without|rename|remove)\b/i;
const FAILS =
  /\b(?:\w*(?:Error|Exception)|error|fatal|panic|FAIL(?:ED)?|failed|denied|not found|cannot|could not)\b/;
/** A line of a file that a tool numbered, for example `  12→`. */
const NUMBERED = /^\s*\d+(?:→|\t|:)/;
const SHELL_KEYS = ["command", "cmd", "script"];
const PATH = /^(?:~|\.{0,2})?\/?(?:[\w@.+-]+\/)+[\w@.+-]*\w$/;
const NUMBER_ITEM = /(?<![\w./:-])\d(?:[\d,]*\d)?(?:\.\d+)?(?: ?%)?(?![\w./:-]*[\w/])/g;

/** Without the escapes of JSON, and white space as one blank each: a context may quote a call as JSON, and wrap it. */
export function onOneLine(text: string): string {
  return text
    .replaceAll(/\\(["\\nt])/g, (_, char: string) => (char === "n" || char === "t" ? " " : char))
    .replaceAll(/\s+/g, " ")
    .trim();
}

/** The items of a session in the order of their first places. */
export async function survivalItems(messages: readonly AgentMessage[], pace: Pace): Promise<SurvivalItem[]> {
  const items: SurvivalItem[] = [];
  const seen = new Set<string>();
  await pace.each(messages, (message, at) => {
    for (const item of itemsOf(message)) {
      const text = onOneLine(item.text);
      const key = `${item.kind} ${text}`;
      if (text.length > LONGEST || item.query.trim() === "" || seen.has(key)) continue;
      seen.add(key);
      items.push({ ...item, text, query: onOneLine(item.query), at });
    }
  });
  return items;
}

type Found = Omit<SurvivalItem, "at">;

function itemsOf(message: AgentMessage): Found[] {
  switch (message.role) {
    case "user":
      return userTextItems(textIn(message));
    case "assistant":
      return assistantItems(message);
    case "toolResult":
      return errorItems(textIn(message), message.isError);
  }
}

function textIn({ content }: AgentMessage): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}

/** Texts that a program wrote in the user's place begin with a mark, for example `<command-name>`. */
function userTextItems(text: string): Found[] {
  if (/^\s*[<[]/.test(text)) return [];
  const sentences = itemSentences(text);
  const decisions = sentences
    .filter((sentence) => DECIDES.test(sentence) && !sentence.endsWith("?"))
    .flatMap((sentence) => byHalf("decisions", sentence));
  return [...decisions, ...numberItems(sentences)];
}

function assistantItems(message: AssistantMessage): Found[] {
  const said = textIn(message);
  const calls = message.content.filter((part) => part.type === "toolCall");
  return [
    ...numberItems(itemSentences(said)),
    ...calls.flatMap(({ arguments: args }) => [...commandItems(args, said), ...pathItems(args)]),
  ];
}

/** Sentences of prose; code in fences is none. */
function itemSentences(text: string): string[] {
  const prose = text.replaceAll(/```[^]*?(?:```|$)/g, "\n");
  return prose
    .split(/\n+|(?<=[.!?])\s+/)
    .map((sentence) => sentence.replace(/^\s*(?:[-*>#]|\d+\.)+\s+/, "").trim())
    .filter((sentence) => sentence !== "");
}

function commandItems(args: Readonly<Record<string, unknown>>, said: string): Found[] {
  return SHELL_KEYS.flatMap((key) => {
    const value = args[key];
    const command = Array.isArray(value) ? value.at(-1) : value;
    if (typeof command !== "string") return [];
    const [text = ""] = command.trim().split("\n");
    const words = typeof args["description"] === "string" ? args["description"] : itemSentences(said).at(-1);
    if (words === undefined || onOneLine(words).includes(onOneLine(text))) return byHalf("commands", text);
    return text.split(" ").length < 2 ? [] : [{ kind: "commands" as const, text, query: words }];
  });
}

/** An agent remembers the name of a file sooner than its folder. */
function pathItems(args: Readonly<Record<string, unknown>>): Found[] {
  return Object.values(args).flatMap((value) => {
    if (typeof value !== "string" || value.length > LONGEST || !PATH.test(value)) return [];
    const name = value.slice(value.lastIndexOf("/") + 1);
    return name.length < 3 ? [] : [{ kind: "paths" as const, text: value, query: name }];
  });
}

/** Of a long output that is no error, for example of a search, a line says nothing about errors of the session. */
function errorItems(text: string, isError: boolean): Found[] {
  if (!isError && text.length > 4_000) return [];
  const lines = text
    .split("\n")
    .filter((line) => line.trim().length <= LONGEST && FAILS.test(line) && !NUMBERED.test(line));
  return lines.slice(0, 3).flatMap((line) => byHalf("error lines", line.trim()));
}

/** A number counts with a word beside it: alone it is in every context by chance. */
function numberItems(sentences: readonly string[]): Found[] {
  return sentences.flatMap((sentence) => {
    if (sentence.length > LONGEST * 2) return [];
    return [...sentence.matchAll(NUMBER_ITEM)].flatMap((match): Found[] => {
      if (match[0].replaceAll(/\D/g, "").length < 2) return [];
      const after = /^\s+[\p{L}]{2,}/u.exec(sentence.slice(match.index + match[0].length))?.[0];
      const before = /[\p{L}]{2,}\s+$/u.exec(sentence.slice(0, match.index))?.[0];
      const text = after === undefined ? `${before ?? ""}${match[0]}` : `${match[0]}${after}`;
      const query = `${sentence.slice(0, match.index)} ${sentence.slice(match.index + match[0].length)}`;
      const isAsked = query.split(/\s+/).length >= LEAST_WORDS;
      return after === undefined && before === undefined
        ? []
        : isAsked
          ? [{ kind: "numbers", text, query }]
          : [];
    });
  });
}

/** Looked for by the first half of its words. */
function byHalf(kind: ItemKind, text: string): Found[] {
  const words = text.split(/\s+/);
  if (words.length < LEAST_WORDS) return [];
  return [{ kind, text, query: words.slice(0, Math.ceil(words.length / 2)).join(" ") }];
}
