/**
 * Names of conversations whose program has none: by the user's words before the first answer and, where several begin with the same
 * words, by that answer. A compaction keeps the name: its summary begins what comes next.
 */
import { createHash } from "node:crypto";
import type { AgentMessage, AssistantMessage } from "@pagurus/contract/message";
import type { WireRequest } from "../dialect/wire-dialect.ts";
import { assistantWords, callIdsOf, userKey } from "./request-messages.ts";
import { summaryBeginning, untagged } from "./wrap-summaries.ts";

/** A known conversation. */
interface Named {
  id: string;
  /** Of the user, before the first answer. */
  words: readonly string[];
  /** Key of the first answer; undefined until one is known. */
  answer: string | undefined;
}

interface Beginning {
  words: string[];
  /** Undefined for a conversation that has none yet. */
  answer: string | undefined;
}

/** Maximum numbers of known conversations and summaries. */
const MOST_KNOWN = 200;
const MOST_SUMMARIES = 20;

function answerKey(messages: readonly AssistantMessage[]): string {
  const words = messages
    .map(assistantWords)
    .filter((text) => text !== "")
    .join("\n");
  return words === "" ? messages.flatMap(callIdsOf).join(" ") : words;
}

function beginningOf({ items, prefixCount }: WireRequest): Beginning {
  const words: string[] = [];
  const answers: AssistantMessage[] = [];
  const all: AgentMessage[] = [];
  for (let at = prefixCount; at < items.length && answers.length === 0; at++) {
    all.push(...(items[at]?.messages ?? []));
    if (all.at(-1)?.role === "toolResult") break;
    const next = items[at + 1]?.messages ?? [];
    if (all.at(-1)?.role === "assistant" && next[0]?.role !== "assistant") break;
  }
  for (const message of all) {
    if (message.role === "user" && answers.length === 0) words.push(userKey(message));
    else if (message.role === "assistant") answers.push(message);
  }
  return { words, answer: answers.length === 0 ? undefined : answerKey(answers) };
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((word, at) => word === other[at]);
}

function beginsWith(words: readonly string[], start: readonly string[]): boolean {
  return start.length <= words.length && start.every((word, at) => word === words[at]);
}

export class ContentNames {
  /** The oldest first. */
  readonly #known: Named[] = [];
  readonly #summaries: { begins: string; id: string }[] = [];
  #count = 0;

  /** Undefined if the conversation has no words. `isAnswering`: whether a conversation waits for an answer. */
  nameOf(request: WireRequest, isAnswering: (id: string) => boolean): string | undefined {
    const compacted = request.items.find(({ compactedFrom }) => compactedFrom !== undefined)?.compactedFrom;
    if (compacted !== undefined) return compacted;
    const { words, answer } = beginningOf(request);
    if (words.length === 0) return undefined;
    return (
      this.#summarized(words) ?? this.#found({ words, answer }, isAnswering)?.id ?? this.#add(words, answer)
    );
  }

  #summarized(words: readonly string[]): string | undefined {
    if (this.#summaries.length === 0) return undefined;
    const text = untagged(words.join("\n"));
    return this.#summaries.find(({ begins }) => text.includes(begins))?.id;
  }

  #found({ words, answer }: Beginning, isAnswering: (id: string) => boolean): Named | undefined {
    // One without an answer is asked again: after a failure, or with more words after an interruption.
    const open = this.#known.findLast((each) => each.answer === undefined && beginsWith(words, each.words));
    if (answer === undefined) {
      if (!open || (isSame(open.words, words) && isAnswering(open.id))) return undefined;
      open.words = words;
      return open;
    }
    const alike = this.#known.filter((each) => isSame(each.words, words));
    const found = alike.findLast((each) => each.answer === answer) ?? open ?? alike.at(-1);
    if (found?.answer === undefined && found) Object.assign(found, { words, answer });
    return found;
  }

  #add(words: readonly string[], answer: string | undefined): string {
    const same = this.#known.some((each) => isSame(each.words, words));
    this.#count += 1;
    const seed = JSON.stringify(same ? [...words, this.#count] : words);
    const id = createHash("sha256").update(seed).digest("base64url");
    this.#known.push({ id, words, answer });
    if (this.#known.length > MOST_KNOWN) this.#known.shift();
    return id;
  }

  /** The request is not of a conversation of its own. */
  forget(id: string): void {
    const at = this.#known.findLastIndex((each) => each.id === id);
    if (at >= 0 && this.#known[at]?.answer === undefined) this.#known.splice(at, 1);
  }

  /** Called with each complete answer; the first one of a conversation is kept. */
  noteAnswer({ native }: WireRequest, message: AssistantMessage): void {
    const named = this.#known.findLast(({ id }) => id === native.contentId);
    const answer = answerKey([message]);
    if (named && named.answer === undefined && answer !== "") named.answer = answer;
  }

  /** Called with the summary that the program got for a conversation. */
  noteSummary({ native }: WireRequest, summary: string): void {
    const begins = summaryBeginning(summary);
    if (native.contentId === undefined || begins === undefined) return;
    this.#summaries.unshift({ begins, id: native.contentId });
    this.#summaries.splice(MOST_SUMMARIES);
  }
}
