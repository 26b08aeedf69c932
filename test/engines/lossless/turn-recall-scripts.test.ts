import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { textOf } from "../../../packages/core/src/compaction/message-text.ts";
import { isRecallBlock } from "../../../packages/contract/src/engine/recall-block.ts";
import { answer } from "../../../packages/testkit/src/engine/scripted-conversation.ts";
import { Drive } from "./drive.ts";

interface Case {
  fact: string;
  chat: string;
  /** Questions in other words than those of the fact. */
  questions: readonly string[];
  other: string;
}

const CASES: Readonly<Record<string, Case>> = {
  Russian: {
    fact: "Мой стоматолог находится за старой кожевней.",
    chat: "Сегодня была хорошая погода, и мы гуляли у реки.",
    questions: ["Где кожевня стоматолога?", "За какими кожевнями принимает стоматолог?"],
    other: "Когда отходит паром?",
  },
  Arabic: {
    fact: "طبيب أسناني خلف المدبغة القديمة.",
    chat: "كان الطقس جميلا اليوم ومشينا على طول النهر.",
    questions: ["أين طبيب الأسنان؟"],
    other: "متى تغادر العبارة؟",
  },
  Korean: {
    fact: "제 치과는 오래된 가죽공장 뒤에 있어요.",
    chat: "오늘은 날씨가 좋아서 강가를 한 시간쯤 걸었다.",
    questions: ["치과는 어디야?", "제 치과가 어디에 있어요?"],
    other: "여객선은 언제 떠나요?",
  },
  Chinese: {
    fact: "我的牙医在老皮革厂后面。",
    chat: "今天天气很好，我们沿着河边走了一个小时。",
    questions: ["我的牙医在哪里？", "牙医在哪儿？"],
    other: "渡轮什么时候开？",
  },
};

const BUDGET = 6_000;

function user(content: string): AgentMessage {
  return { role: "user", content };
}

describe("a question in other forms of the words gets its passage, and one about something else gets none", () => {
  for (const [language, { fact, chat, questions, other }] of Object.entries(CASES))
    it(`in ${language}`, async () => {
      const drive = new Drive({ budget: BUDGET });
      try {
        await drive.turn(user(fact), [], answer(0));
        for (let index = 1; index <= 60; index += 1)
          await drive.turn(user(`${index}. ${chat.repeat(3)}`), [], answer(index));
        assert.ok(drive.compactions > 0);
        const blocksFor = async (question: string): Promise<string[]> => {
          const turnId = drive.begin(user(question));
          const { messages } = await drive.call(turnId);
          drive.append(turnId, answer(90));
          await drive.commit(turnId);
          return messages.map((message) => textOf(message)).filter((text) => isRecallBlock(text));
        };
        assert.deepEqual(await blocksFor(other), []);
        for (const question of questions) {
          drive.promptCache = { expiresAt: Date.now() - 1 };
          const blocks = await blocksFor(question);
          assert.ok(
            blocks.some((block) => block.includes(fact)),
            question,
          );
        }
      } finally {
        await drive.end();
      }
    });
});
