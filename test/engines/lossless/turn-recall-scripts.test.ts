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
  Japanese: {
    fact: "私の歯医者は古い革工場の裏にあります。",
    chat: "今日は天気が良くて、川沿いを一時間ほど歩きました。",
    questions: ["歯医者はどこにあるの？", "歯医者はどこにあるの"],
    other: "フェリーは何時に出ますか？",
  },
  Thai: {
    fact: "หมอฟันของฉันอยู่หลังโรงฟอกหนังเก่า",
    chat: "วันนี้อากาศดี เราเดินเล่นริมแม่น้ำหนึ่งชั่วโมง",
    questions: ["หมอฟันอยู่ที่ไหน", "หมอฟันอยู่ที่ไหน?"],
    other: "เรือข้ามฟากออกกี่โมง",
  },
  Hindi: {
    fact: "मेरे दाँतों के डॉक्टर पुराने चमड़ा कारखाने के पीछे बैठते हैं।",
    chat: "आज मौसम अच्छा था और हम एक घंटा नदी किनारे टहले।",
    questions: ["दाँतों के डॉक्टर कहाँ हैं?"],
    other: "नाव कितने बजे छूटती है?",
  },
  Greek: {
    fact: "Ο οδοντίατρός μου είναι πίσω από το παλιό βυρσοδεψείο.",
    chat: "Σήμερα είχε καλό καιρό και περπατήσαμε μία ώρα δίπλα στο ποτάμι.",
    questions: ["Πού είναι ο οδοντίατρος του παλιού βυρσοδεψείου;"],
    other: "Πότε φεύγει το φέρι;",
  },
  Chinese: {
    fact: "我的牙医在老皮革厂后面。",
    chat: "今天天气很好，我们沿着河边走了一个小时。",
    questions: ["我的牙医在哪里？", "牙医在哪儿"],
    other: "渡轮什么时候开？",
  },
};

const BUDGET = 6_000;

function user(content: string): AgentMessage {
  return { role: "user", content };
}

/** A conversation whose first message has the fact, long enough that it is out of sight. */
async function longTalk(fact: string, chat: string): Promise<Drive> {
  const drive = new Drive({ budget: BUDGET });
  await drive.turn(user(fact), [], answer(0));
  for (let index = 1; index <= 90; index += 1)
    await drive.turn(user(`${index}. ${chat.repeat(3)}`), [], answer(index));
  assert.ok(drive.compactions > 0);
  return drive;
}

/** The blocks of a question after the provider's cache has expired. */
async function blocksFor(drive: Drive, question: string): Promise<string[]> {
  drive.promptCache = { expiresAt: Date.now() - 1 };
  const turnId = drive.begin(user(question));
  const { messages } = await drive.call(turnId);
  drive.append(turnId, answer(90));
  await drive.commit(turnId);
  return messages.map((message) => textOf(message)).filter((text) => isRecallBlock(text));
}

describe("a question in other forms of the words gets its passage, and one about something else gets none", () => {
  for (const [language, { fact, chat, questions, other }] of Object.entries(CASES))
    it(`in ${language}`, async () => {
      const drive = await longTalk(fact, chat);
      try {
        assert.deepEqual(await blocksFor(drive, other), []);
        for (const question of questions) {
          const blocks = await blocksFor(drive, question);
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

/** A fact about one person, questions about this one, and the same about people who were never mentioned. */
const PEOPLE: Readonly<Record<string, Omit<Case, "chat" | "other"> & { others: readonly string[] }>> = {
  Arabic: {
    fact: "صار عمر يعمل الآن في المطبعة.",
    questions: ["أين يعمل عمر الآن؟"],
    others: ["أين يعمل زياد الآن؟", "أين يعمل لقمان الآن؟"],
  },
  Thai: {
    fact: "ตอนเช้าวารีฝึกโยคะที่สวนหลังบ้าน",
    questions: ["ตอนเช้าวารีฝึกโยคะที่ไหน"],
    others: ["ตอนเช้าวิทยาฝึกโยคะที่ไหน", "โยคะที่วิทยาชอบฝึกตอนเช้าอยู่ที่ไหน"],
  },
  Hindi: {
    fact: "राहुल की बहन को वाराणसी के विश्वविद्यालय में दाखिला मिला।",
    questions: ["राहुल की बहन किस शहर के विश्वविद्यालय में है?"],
    others: ["मीरा की बहन किस विश्वविद्यालय में है?"],
  },
};

describe("a question about a person gets a passage where that person was mentioned, and none where not", () => {
  for (const [language, { fact, questions, others }] of Object.entries(PEOPLE))
    it(`in ${language}`, async () => {
      const drive = await longTalk(fact, CASES[language]?.chat ?? "");
      try {
        for (const question of others) assert.deepEqual(await blocksFor(drive, question), [], question);
        for (const question of questions) {
          const blocks = await blocksFor(drive, question);
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
