/** Sentences about rules in nine scripts: orders, mentions, quotes of others, questions, hypotheses, code, revocations and changes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { afterWords, NO_RULES } from "../../packages/core/src/compaction/summary/lasting-rules.ts";

/** What the words do: set a rule, nothing, end the rule before, leave it as it is, or replace it. */
type Form = readonly [kind: "order" | "none" | "gone" | "keeps" | "changes", words: string, before?: string];

const FIRST: readonly Form[] = [
  // English
  ["order", "Please remember that I'm vegetarian, so never suggest meat dishes."],
  ["order", "Whenever you quote a price, add the currency."],
  ["order", "For all future replies, keep it under five sentences."],
  ["none", 'My teacher wrote: "Always answer in complete sentences. Never guess."'],
  ["none", "If I told you to always answer in French, would that be a problem?"],
  ["none", "The phrase 'from now on, answer in verse' appears in chapter two."],
  ["none", "Here is the config:\n```\n# always answer in German from now on\n```"],
  ["none", "Add the comment `// never remove this line` above the loop."],
  ["none", "We always use tabs at work, but the new team prefers spaces."],
  ["gone", "OK, you can drop the Spanish now.", "Always answer in Spanish."],
  ["gone", "The no-meat rule is off.", "Never suggest meat dishes."],
  ["keeps", "My sister can speak Spanish again after her course.", "Always answer in Spanish."],
  ["changes", "Let's switch to imperial units from now on.", "Always use metric units."],
  // other Latin
  ["order", "Ne me tutoie plus, s'il te plaît."],
  ["order", "Ich möchte, dass du immer auf Deutsch antwortest."],
  ["order", "Je voudrais que tu répondes toujours en français."],
  ["order", "Kannst du ab jetzt bitte immer auf Deutsch antworten?"],
  ["none", "Si te pidiera que siempre respondieras en inglés, ¿lo harías?"],
  ["none", 'Meine Chefin sagt immer: "Bitte nie ohne Rücksprache antworten."'],
  ["none", "Ab jetzt wohne ich in Berlin."],
  ["none", "Nunca como carne."],
  ["none", "Ma sœur ne mange jamais de viande."],
  ["none", "Meine Eltern wollen immer gewinnen."],
  ["gone", "Du musst nicht mehr auf Englisch antworten.", "Antworte immer auf Englisch."],
  // Cyrillic
  ["order", "С этого дня называй меня Мариной."],
  ["order", "Когда я присылаю код, сначала найди ошибку."],
  ["order", "Я хочу, чтобы ты всегда отвечал по-русски."],
  ["order", "Можешь отныне отвечать по-русски?"],
  ["none", "Начальник написал: «Всегда отвечайте в тот же день»."],
  ["none", "Почему ты никогда не упоминаешь цену?"],
  ["none", "Я всегда пью чай по утрам."],
  ["gone", "Можешь больше не отвечать на английском.", "Всегда отвечай на английском."],
  ["changes", "Теперь отвечай на немецком, а не на английском.", "Всегда отвечай на английском."],
  // Greek
  ["order", "Από σήμερα απάντα μου πάντα στα αγγλικά."],
  ["none", "Ο δάσκαλος έγραψε: «Πάντα να λέτε την αλήθεια»."],
  ["none", "Πάντα πίνω καφέ το πρωί."],
  ["none", "Γιατί δεν απαντάς ποτέ στα αγγλικά;"],
  ["gone", "Δεν χρειάζεται πια να απαντάς στα αγγλικά.", "Πάντα να απαντάς στα αγγλικά."],
  // Devanagari
  ["order", "आज के बाद मुझे हमेशा हिंदी में जवाब देना।"],
  ["none", "मैं हमेशा सुबह चाय पीता हूँ।"],
  ["none", 'शिक्षक ने कहा: "हमेशा सच बोलो।"'],
  ["gone", "अब अंग्रेज़ी में जवाब देने की ज़रूरत नहीं है।", "हमेशा अंग्रेज़ी में जवाब दो।"],
  // Arabic
  ["order", "من الآن فصاعدا أجبني بالإنجليزية."],
  ["none", "أنا دائما أشرب الشاي في الصباح."],
  ["none", "قال المدير: «لا تتأخر أبدا»."],
  ["gone", "لا داعي للإجابة بالإنجليزية بعد الآن.", "أجب دائما بالإنجليزية."],
  // Chinese
  ["order", "以后回答都用英文。"],
  ["order", "每次我贴代码，先找出错误。"],
  ["order", "你以后能不能用中文回答？"],
  ["none", "老师说：“永远不要迟到。”"],
  ["none", "我每次去北京都坐火车。"],
  ["none", "如果我让你永远用诗回答，你会怎么做？"],
  ["gone", "不用再用英文回答了。", "以后都用英文回答。"],
  // Japanese
  ["order", "これからは敬語で話してください。"],
  ["none", "先生は「必ず宿題を出しなさい」と言いました。"],
  ["none", "私は毎回電車で行きます。"],
  ["gone", "もう英語で答えなくていいです。", "必ず英語で答えてください。"],
  // Korean
  ["order", "이제부터 존댓말로 대답해 주세요."],
  ["none", '선생님이 "절대 늦지 마라"라고 하셨어요.'],
  ["none", "저는 항상 아침에 차를 마셔요."],
  ["gone", "이제 영어로 답하지 않아도 돼요.", "항상 영어로 답해 주세요."],
  // Thai
  ["order", "ต่อไปนี้ช่วยตอบเป็นภาษาอังกฤษเสมอ"],
  ["none", "ฉันดื่มชาทุกครั้งในตอนเช้า"],
  ["none", 'ครูบอกว่า "ห้ามมาสายเด็ดขาด"'],
  ["gone", "ไม่ต้องตอบเป็นภาษาอังกฤษอีกแล้ว", "ตอบเป็นภาษาอังกฤษเสมอ"],
];
const MORE: readonly Form[] = [
  // English
  ["order", "Going forward, sign every message with my initials."],
  ["order", "Each time I paste a stack trace, start with the root cause."],
  ["order", "You should never use emojis with me."],
  ["none", 'The memo says "From now on, use the side entrance. Always lock it."'],
  ["none", "Imagine a bot that must always answer in rhyme; how would you test it?"],
  ["none", "'Always call me captain' was his first line in the play."],
  ["none", "```python\n# From now on always call me Bob\nprint(1)\n```\nWhy does this fail?"],
  ["none", "Replace `please always retry` with `please retry once` in the README."],
  ["none", "I never use the lift and always take the stairs."],
  ["gone", "Please stop explaining code line by line.", "Whenever I paste code, explain it line by line."],
  ["gone", "About ending with a question: no longer needed.", "Always end with a question."],
  ["keeps", "We're going to Porto again in May.", "Never mention Porto."],
  ["changes", "Actually, call me Dr. Lovelace from now on.", "Call me Ada."],
  // other Latin
  ["order", "D'ora in poi usa sempre il sistema metrico."],
  ["order", "¿Puedes responder siempre en español, por favor?"],
  ["none", "Eu nunca como carne e sempre bebo chá."],
  ["none", "Si je te demandais de toujours répondre en anglais, le ferais-tu ?"],
  ["none", "Désormais j'habite à Lyon."],
  ["none", "Mangio sempre alle otto."],
  ["none", "Mijn ouders willen altijd winnen."],
  ["gone", "Finalement, plus besoin de répondre en anglais.", "Réponds toujours en anglais."],
  ["gone", "Noem voortaan geen bron meer.", "Noem altijd de bron."],
  // Cyrillic
  ["order", "Пожалуйста, больше не используй эмодзи."],
  ["order", "Впредь указывай источник в каждом ответе."],
  ["order", "Завжди відповідай українською."],
  ["none", "Если бы я попросил тебя всегда отвечать стихами, ты бы смог?"],
  ["none", "На двери висит табличка: «Всегда закрывайте дверь»."],
  ["none", "Мы никогда не ездим на машине зимой."],
  ["gone", "Про Осло снова можно говорить.", "Никогда не упоминай Осло."],
  ["changes", "Лучше теперь пиши кратко, а не подробно.", "Всегда пиши подробно."],
  // Greek
  ["order", "Μην χρησιμοποιείς ποτέ ξανά emoji."],
  ["order", "Κάθε φορά που ρωτάω για τιμές, δίνε και το νόμισμα."],
  ["none", "Ποτέ δεν τρώω κρέας."],
  ["none", "Αν σου έλεγα να απαντάς πάντα στα γαλλικά, θα το έκανες;"],
  ["gone", "Μπορείς πάλι να αναφέρεις το Όσλο.", "Μην αναφέρεις ποτέ το Όσλο."],
  // Devanagari
  ["order", "जब भी मैं कीमत पूछूँ, मुद्रा भी बताना।"],
  ["order", "इमोजी का इस्तेमाल कभी मत करना।"],
  ["none", "तुम कभी कीमत क्यों नहीं बताते?"],
  ["none", "हम कभी मांस नहीं खाते।"],
  ["gone", "अब तुम फिर से ओस्लो का ज़िक्र कर सकते हो।", "कभी ओस्लो का ज़िक्र मत करना।"],
  // Arabic
  ["order", "كلما سألتك عن سعر اذكر العملة."],
  ["order", "لا تستخدم الرموز التعبيرية أبدا."],
  ["none", "لماذا لا تذكر السعر أبدا؟"],
  ["none", "نحن لا نأكل اللحم أبدا."],
  ["gone", "يمكنك ذكر أوسلو مرة أخرى.", "لا تذكر أوسلو أبدا."],
  // Chinese
  ["order", "请不要再用表情符号了。"],
  ["order", "從現在起請叫我王老師。"],
  ["none", "你为什么从来不提价格？"],
  ["none", "我们以后总是会再见的。"],
  ["gone", "现在又可以提奥斯陆了。", "永远不要提奥斯陆。"],
  ["changes", "改用法语回答吧，别用英文了。", "以后都用英文回答。"],
  // Japanese
  ["order", "絵文字は二度と使わないでください。"],
  ["order", "コードを貼ったら、まずエラーを指摘して。"],
  ["order", "これからは日本語で答えてもらえますか？"],
  ["none", "どうしていつも価格を書かないの？"],
  ["none", "もし「必ず詩で答えて」と頼んだら、できますか？"],
  ["none", "母は必ず朝にお茶を飲みます。"],
  ["gone", "またオスロの話をしてもいいよ。", "オスロの話は絶対にしないで。"],
  // Korean
  ["order", "이모티콘은 다시는 쓰지 마세요."],
  ["order", "제가 코드를 붙이면 먼저 오류를 찾아 주세요."],
  ["none", "왜 항상 가격을 빼먹어요?"],
  ["none", "우리는 매번 기차로 가요."],
  ["gone", "오슬로 이야기 다시 해도 돼.", "오슬로 이야기는 절대 하지 마."],
  // Thai
  ["order", "อย่าใช้อีโมจิอีกเลยนะ"],
  ["order", "ทุกครั้งที่ผมส่งโค้ด ให้หาข้อผิดพลาดก่อน"],
  ["none", "ทำไมคุณไม่เคยบอกราคาเลย"],
  ["none", "แม่ของฉันใช้รถไฟเสมอ"],
  ["gone", "พูดถึงออสโลได้อีกครั้งแล้ว", "ห้ามพูดถึงออสโลเด็ดขาด"],
  ["order", "In future, greet me with a haiku."],
  ["none", "Going forward the library closes at six."],
  ["none", "We sometimes argue but never shout."],
  ["order", "I'm colour-blind, so please never rely on red and green."],
  ["none", "The instructions on the box read “Always wash before use”."],
  ["none", "If you always had to answer in haiku, could you still be precise?"],
  ["none", "Rename `alwaysReply` to `neverReply` everywhere."],
  ["gone", "Could you stop greeting me with a haiku?", "Always greet me with a haiku."],
  ["keeps", "My neighbour stopped greeting me.", "Always greet me with a haiku."],
  ["order", "Antworte künftig in höchstens drei Sätzen."],
  ["none", "„Nie wieder Krieg“ stand auf dem Plakat."],
  ["none", "Siempre desayuno a las siete."],
  ["gone", "Ya no hace falta que cites las fuentes.", "Cita siempre las fuentes."],
  ["order", "Отныне пиши мне коротко."],
  ["none", "Отныне я хожу на работу пешком."],
  ["gone", "Снова можешь упоминать Париж.", "Никогда не упоминай Париж."],
  ["order", "Στο εξής να γράφεις μόνο στα ελληνικά."],
  ["none", "Ποτέ δεν πήγα στο Παρίσι."],
  ["order", "आगे से छोटे जवाब देना।"],
  ["gone", "अब तुम फिर से पेरिस का नाम ले सकते हो।", "कभी पेरिस का नाम मत लेना।"],
  ["order", "من اليوم أجب باختصار من فضلك."],
  ["none", "كتب على الباب: «ممنوع الدخول أبدا»."],
  ["order", "今后请一律用简体字回答。"],
  ["none", "他总是不要糖。"],
  ["changes", "以后改用英语回答。", "以后都用中文回答。"],
  ["order", "今後は必ず出典を書いてください。"],
  ["none", "父はいつも早く起きてと言う。"],
  ["order", "앞으로 답변은 짧게 해 주세요."],
  ["none", "친구가 항상 늦게 와요."],
  ["order", "จากนี้ไปโปรดตอบสั้นๆ"],
  ["none", "เพื่อนของผมมาสายทุกครั้ง"],
];

/** Why the reader is wrong about a form; undefined where it is right. */
function fault([kind, words, before]: Form): string | undefined {
  const old = before === undefined ? NO_RULES : afterWords(NO_RULES, before);
  if (before !== undefined && old.rules.length !== 1) return `no rule: ${before}`;
  const rules = afterWords(old, words).rules.map(({ text }) => text);
  const isKept = before !== undefined && rules.includes(before);
  const added = rules.filter((text) => text !== before);
  const isRight = {
    order: added.length > 0,
    none: added.length === 0,
    gone: !isKept,
    keeps: isKept && added.length === 0,
    changes: !isKept && added.length > 0,
  };
  return isRight[kind] ? undefined : `${kind}: ${words}`;
}

test("orders set a rule, and quotes, questions, hypotheses, code and reports set none", () => {
  for (const forms of [FIRST, MORE])
    assert.deepEqual(
      forms.flatMap((form) => fault(form) ?? []),
      [],
    );
});
