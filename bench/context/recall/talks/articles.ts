/**
 * Articles with questions, as notes that a user shares over days: the sentences of several articles, one after the other. The questions of
 * the same articles have evidence, those of the others were never mentioned. Not in the repository: XQuAD (`PAGURUS_BENCH_XQUAD` is the
 * folder with its `xquad.<language>.json`; CC BY-SA 4.0), and JSQuAD (`PAGURUS_BENCH_JSQUAD` is its `valid` file; CC BY-SA 4.0).
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentMessage } from "../../../../packages/contract/src/message.ts";
import type { Split } from "../cases.ts";
import type { BlockCase, BlockQuestion } from "./made-talk.ts";

interface Paragraph {
  context: string;
  qas: readonly { question: string; answers: readonly { text: string; answer_start: number }[] }[];
}

interface Article {
  paragraphs: readonly Paragraph[];
}

const LANGUAGES: Readonly<Record<string, string>> = {
  zh: "Chinese",
  th: "Thai",
  ru: "Russian",
  el: "Greek",
  hi: "Hindi",
  ar: "Arabic",
};
/** Conversations that the articles are dealt to; the first half of them is for tuning. */
const DEALT = 4;
/** Questions of each kind that are asked in a conversation. */
const ASKED = 60;
/** Articles of a conversation. */
const MOST_ARTICLES = 12;
const SENTENCE = /[^.!?。！？।؟]+[.!?。！？।؟]*\s*/gu;
const SITTING = 24;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const START = Date.parse("2025-03-03T18:00:00Z");

function sentencesOf(text: string): string[] {
  return (text.match(SENTENCE) ?? [text]).map((sentence) => sentence.trim()).filter((each) => each !== "");
}

/** So many of them, evenly spread. */
function some<T>(all: readonly T[], count: number): T[] {
  const step = Math.max(1, all.length / count);
  return Array.from({ length: Math.min(count, all.length) }, (_, at) => all[Math.floor(at * step)]).flatMap(
    (each) => (each === undefined ? [] : [each]),
  );
}

function questionsOf(articles: readonly Article[]): BlockQuestion[] {
  return articles.flatMap(({ paragraphs }) =>
    paragraphs.flatMap(({ context, qas }) =>
      qas.flatMap(({ question, answers: [answer] }) => {
        const gold = answer && sentencesOf(context).find((sentence) => sentence.includes(answer.text));
        return gold === undefined ? [] : [{ text: question, gold, kind: "stated" }];
      }),
    ),
  );
}

function messagesOf(articles: readonly Article[]): AgentMessage[] {
  const texts = articles.flatMap(({ paragraphs }) =>
    paragraphs.flatMap(({ context }) => sentencesOf(context)),
  );
  return texts.map((text, index): AgentMessage => {
    const timestamp = START + Math.floor(index / SITTING) * DAY_MS + (index % SITTING) * MINUTE_MS;
    return index % 2 === 0
      ? { role: "user", content: text, timestamp }
      : { role: "assistant", content: [{ type: "text", text }], stopReason: "stop", timestamp };
  });
}

function casesOf(all: readonly Article[], group: string, split: Split): BlockCase[] {
  const dealt = Array.from({ length: DEALT }, (_, deal) =>
    all.filter((__, index) => index % DEALT === deal).slice(0, MOST_ARTICLES),
  );
  return dealt.flatMap((articles, deal) => {
    if (deal < DEALT / 2 !== (split === "tuning")) return [];
    const others = questionsOf(dealt.filter((other) => other !== articles).flat());
    const never = some(others, ASKED).map((question) => ({
      ...question,
      gold: undefined,
      kind: "another article",
    }));
    const questions = [...some(questionsOf(articles), ASKED), ...never];
    return [{ name: `${group} ${deal + 1}`, group, messages: messagesOf(articles), questions }];
  });
}

function articlesIn(file: string): Article[] {
  return (JSON.parse(readFileSync(file, "utf8")) as { data: Article[] }).data;
}

/** Cases of one split; none without the files. */
export function articleCases(split: Split): BlockCase[] {
  const { PAGURUS_BENCH_XQUAD: xquad = "", PAGURUS_BENCH_JSQUAD: jsquad = "" } = process.env;
  const cases = Object.entries(LANGUAGES).flatMap(([code, language]) => {
    const file = join(xquad, `xquad.${code}.json`);
    return xquad === "" || !existsSync(file) ? [] : casesOf(articlesIn(file), `XQuAD, ${language}`, split);
  });
  return [...cases, ...(jsquad === "" ? [] : casesOf(articlesIn(jsquad), "JSQuAD, Japanese", split))];
}
