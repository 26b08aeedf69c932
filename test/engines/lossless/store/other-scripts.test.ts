import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { familyOf } from "../../../../packages/lossless/src/store/search/families.ts";
import { queryWords } from "../../../../packages/lossless/src/store/search/query.ts";
import { chain, withStore } from "./fixtures.ts";

interface Case {
  texts: readonly string[];
  /** Questions, and a word of the text that answers each. */
  answers: Readonly<Record<string, string>>;
}

const CASES: Readonly<Record<string, Case>> = {
  Russian: {
    texts: [
      "Сегодня хорошая погода, мы гуляли у реки.",
      "Мою собаку зовут Барсик.",
      "Завтра поедем на дачу.",
      "Я купил новую машину вчера.",
      "Наш чёрный кот боится грозы.",
    ],
    answers: {
      "Как зовут мою собаку?": "Барсик",
      "Какая у меня собака?": "Барсик",
      "Кличка собаки?": "Барсик",
      "О машине?": "машину",
      "Куда мы поехали, на дачи?": "дачу",
      "Где черные коты?": "чёрный",
    },
  },
  Ukrainian: {
    texts: ["Вчора була гарна погода.", "Мого пса звати Рекс, ім'я дала сестра.", "Ми купили нову машину."],
    answers: { "Яке ім'я дали сестри?": "Рекс", "Що з машиною?": "машину" },
  },
  Greek: {
    texts: ["Ο σκύλος μου λέγεται Ρεξ.", "Χθες αγόρασα ένα αυτοκίνητο.", "Πήγαμε στη θάλασσα με τον γιατρό."],
    answers: {
      "Πώς λένε τον σκύλο μου;": "Ρεξ",
      "Ποιο χρώμα έχουν τα αυτοκίνητα;": "αυτοκίνητο",
      "Η τιμή του αυτοκινήτου;": "αυτοκίνητο",
      "ΘΑΛΑΣΣΕΣ;": "θάλασσα",
      "Ποιος είναι ο γιατρός;": "θάλασσα",
    },
  },
  Hebrew: {
    texts: ["שם הכלב שלי הוא רקס.", "אתמול קניתי מכונית חדשה.", "היינו בבית ספר."],
    answers: { "מה שמו של כלבי?": "רקס", "איזו מכונית?": "חדשה", "איפה המכוניות?": "חדשה" },
  },
  Arabic: {
    texts: [
      "ذهبنا إلى المدرسة اليوم.",
      "اسم كلبي هو ريكس.",
      "اشتريت سيارة جديدة أمس.",
      "طبيب أسناني خلف المدبغة القديمة.",
    ],
    answers: {
      "ما اسم الكلب؟": "ريكس",
      "متى اشتريت السيارة؟": "جديدة",
      "أين طبيب الأسنان؟": "المدبغة",
      "كم مدرسة؟": "اليوم",
      "الاسنان؟": "المدبغة",
    },
  },
  Hindi: {
    texts: ["मेरे कुत्ते का नाम शेरू है।", "कल मैंने नई गाड़ी खरीदी।"],
    answers: { "कुत्तों के नाम?": "शेरू", "गाड़ियां?": "खरीदी", "गाड़ियों में क्या था?": "खरीदी" },
  },
  Korean: {
    texts: [
      "오늘은 날씨가 좋아서 강가를 걸었다.",
      "우리 강아지의 이름은 바둑이다.",
      "학교에서 친구를 만났다.",
      "어제 새 자동차를 샀다.",
      "큰 집에서 살았다.",
    ],
    answers: {
      "강아지 이름이 뭐야?": "바둑이다",
      "학교는 어디?": "친구를",
      "자동차가 언제?": "샀다",
      "친구를 언제 만났어요?": "학교에서",
      "집은?": "살았다",
    },
  },
};

describe("a search finds the forms of words of other alphabets, and leaves out stop words", () => {
  for (const [language, { texts, answers }] of Object.entries(CASES))
    it(`in ${language}`, async () => {
      await withStore(async (store) => {
        store.ingestTurn("s", chain(texts));
        for (const [query, word] of Object.entries(answers)) {
          const [first] = await store.passages({ query, sessions: ["s"] });
          assert.ok(first?.text.includes(word), `${query} ${first?.text}`);
        }
      });
    });
});

describe("the forms of words of other alphabets", () => {
  const isForm = (word: string, other: string): boolean => familyOf(word)?.has(other) ?? false;

  it("have endings of one kind of word", () => {
    for (const [word, other] of [
      ["собака", "собаками"],
      ["кабинет", "кабинета"],
      ["новый", "новую"],
      ["находится", "находились"],
      ["όνομα", "ονόματος"],
      ["הכלב", "וכלבים"],
      ["السيارة", "بسيارتي"],
    ] as const)
      assert.ok(isForm(word, other), `${word}, ${other}`);
  });

  it("are not words that only begin like them", () => {
    for (const [word, other] of [
      ["стол", "столица"],
      ["кабинет", "кабина"],
      ["дом", "домофон"],
      ["나이", "나는"],
      ["마을", "마는"],
      ["집", "집중"],
      ["كلب", "كلبشات"],
    ] as const)
      assert.ok(!isForm(word, other), `${word}, ${other}`);
  });

  it("are not looked for in words of Latin script, numbers and scripts without spaces", () => {
    for (const word of ["paint", "b12", "2024", "牙医", "src/a.ts", "собака2"])
      assert.equal(familyOf(word), undefined, word);
  });

  it("have a weight together, so that a known name in another form is known", async () => {
    await withStore(async (store) => {
      store.ingestTurn("s", chain(["Барсик любит рыбу.", "Вчера шёл дождь.", "Мы были дома."]));
      const { match } = await store.passages({ query: "Что любит наш Барсика друг?", sessions: ["s"] });
      assert.equal(match.isNamed, true);
    });
  });
});

describe("the words of a query in another script than Latin", () => {
  const typed = (query: string): string[] => queryWords(query).map(({ text }) => text);

  it("are those with a meaning", () => {
    assert.deepEqual(typed("Какая у меня собака?"), ["собака"]);
    assert.deepEqual(typed("Πώς λένε τον γιατρό μου;"), ["γιατρο"]);
    assert.deepEqual(typed("איפה הכלב שלי?"), ["הכלב"]);
    assert.deepEqual(typed("أين طبيب؟"), ["طبيب"]);
    assert.deepEqual(typed("नाम क्या है?"), ["नाम"]);
    assert.deepEqual(typed("강아지 이름이 뭐야?"), ["강아지", "이름이"]);
  });

  it("have no pairs of Chinese characters that ask", () => {
    assert.deepEqual(typed("牙医在哪儿？"), ["牙医在哪儿", "牙医", "医在"]);
  });
});
