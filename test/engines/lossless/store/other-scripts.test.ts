import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { familyOf } from "../../../../packages/lossless/src/store/search/families.ts";
import type { Match } from "../../../../packages/lossless/src/store/search/match.ts";
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

  it("are words and no clauses where no spaces are between them, without those that ask", () => {
    assert.deepEqual(typed("牙医在哪儿？"), ["牙医"]);
    assert.ok(typed("我的牙醫什麼時候下班？").includes("牙醫"));
    assert.deepEqual(typed("หมอฟันของฉันอยู่ที่ไหน"), ["หมอ", "ฟัน"]);
    assert.deepEqual(typed("tablet的密码是什么？"), ["tablet", "密码"]);
  });

  it("count as parts of one where they are pairs of characters of a longer word", () => {
    const parts = queryWords("歯医者はどこ？").filter(({ made }) => !made);
    assert.deepEqual(
      parts.map(({ text, part }) => [text, part]),
      [
        ["歯医", 0.5],
        ["医者", 0.5],
      ],
    );
  });

  it("are names by the words beside them where the script has no capitals", () => {
    const names = (query: string): string[] =>
      queryWords(query).flatMap(({ text, isName }) => (isName === true ? [text] : []));
    assert.deepEqual(names("王强的自行车是什么颜色？"), ["王", "强"]);
    assert.deepEqual(names("健太さんの犬の色は？"), ["健太"]);
    assert.deepEqual(names("민수 씨 고양이는 어디 있어요?"), ["민수"]);
    assert.deepEqual(names("मनोज की साइकिल कहाँ है?"), ["मनोज"]);
    assert.deepEqual(names("ما لون دراجة مريم؟"), ["مريم"]);
    assert.deepEqual(names("自行车是什么颜色？"), []);
  });
});

describe("the match of a question", () => {
  const matchOf = async (texts: readonly string[], query: string): Promise<Match> =>
    withStore(async (store) => {
      store.ingestTurn("s", chain([...texts, ...CHAT]));
      return (await store.passages({ query, sessions: ["s"] })).match;
    });
  const CHAT = Array.from({ length: 60 }, (_, day) => `Day ${day}: 今天天气很好 погода хорошая`);

  it("takes a full name as known where one part of it is", async () => {
    const texts = ["Anna has moved to Lisbon.", "Anna likes her bicycle."];
    const known = await matchOf(texts, "Where did Anna move to?");
    const full = await matchOf(texts, "Where did Anna Petersen move to?");
    assert.deepEqual([full.isNamed, full.share], [true, known.share]);
    const other = await matchOf(texts, "Where did Maria Petersen move to?");
    assert.equal(other.isNamed, false);
    assert.ok(other.share < known.share / 2);
    const genitive = await matchOf(texts, "Where is Anna Petersen's bicycle?");
    assert.equal(genitive.isNamed, true);
  });

  it("does not take a German noun beside a name as part of it", async () => {
    const { isNamed } = await matchOf(
      ["Anna wohnt jetzt in Lissabon."],
      "Wo hat denn die Anna Fahrrad und Helm?",
    );
    assert.equal(isNamed, false);
  });

  it("is nothing where another alphabet's message has only the name", async () => {
    for (const [text, asked, about] of [
      ["Марина купила синий велосипед.", "Какого цвета велосипед у Марины?", "На каком этаже живёт Марина?"],
      ["孙浩上周买了一辆蓝色的自行车。", "孙浩的自行车是什么颜色？", "孙浩的血型是什么？"],
    ] as const) {
      assert.ok((await matchOf([text], asked)).share > 0.3, asked);
      const nothing = await matchOf([text], about);
      assert.deepEqual([nothing.share, nothing.isNamed], [0, false], about);
    }
  });

  it("weighs a word of Hindi by the texts that have it, and not by those that have its consonants", async () => {
    const texts = [
      "मेरा कुत्ता बीमार है।",
      ...Array.from({ length: 40 }, () => "कल तुम्हारी किताब मिली, तुमने क्यों रखी?"),
    ];
    const { weight, share } = await matchOf(texts, "कुत्ते को क्या हुआ?");
    assert.ok(weight > 3 && share > 0.3, `${weight} ${share}`);
  });
});
