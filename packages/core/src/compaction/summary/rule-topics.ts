/** Topics of lasting rules: which words two sentences share, and which property of an answer a rule sets. */
import { CONDITION, plainWords } from "./rule-words.ts";
import { termsOf } from "./terms.ts";

/** Words that speak about rules, and not about their topics. */
const FRAME = new Set(
  (
    "alway never rule rules rul instruct instruction forget drop ignor disregard cancel scrap lift remov revok again anymor longer " +
    "need needed necessar requir apply applie want like prefer pleas stop start begin fine okay free feel allow welcome back told said " +
    "ask earlier before previous previou last thing about actual actuall instead rather chang mind kind can may ever time every everytime " +
    "whenev request prefer preferenc anything someth bit part request again still that don t s ll re ve m d let keep from here forward going go " +
    "scratch delet skip discard withdraw take ditch undo void future henceforth onward onwards hey hi ok yes no well look listen thank thanks dear word also just really actually longer later"
  ).split(" "),
);
/** Verbs and things that most rules have. */
const COMMON_TERMS = new Set(
  (
    "use answer reply repli respons respond write make give say mention includ add show tell put list message question talk send " +
    "text explain explanation sentenc summary summarie"
  ).split(" "),
);
const COMMON_WEIGHT = 0.3;
/** Short words of languages whose small words are not known, and pairs of characters. */
const SMALL_WEIGHT = 0.1;
const PAIR_WEIGHT = 0.4;
const PAIR = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]{2}$/u;

const NO_VOWELS = /^[\p{Script=Devanagari}\p{Script=Arabic}\p{Script=Hebrew}]+$/u;

function termWeight(term: string): number {
  if (COMMON_TERMS.has(term)) return COMMON_WEIGHT;
  if (PAIR.test(term)) return PAIR_WEIGHT;
  // Vowels are marks there, or are not written.
  const small = NO_VOWELS.test(term) ? 2 : 3;
  return term.length <= small && !/\d/.test(term) ? SMALL_WEIGHT : 1;
}

/** Terms of a sentence that are about its topic. */
export function contentTerms(text: string): string[] {
  return [...new Set(termsOf(text))].filter((term) => !FRAME.has(term));
}

/** Equal words, or forms of one: the stem of a short word keeps its ending. */
function isSame(a: string, b: string): boolean {
  if (a === b) return true;
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  return short.length >= 3 && long.length - short.length <= 2 && long.startsWith(short);
}

function has(terms: readonly string[], term: string): boolean {
  return terms.some((other) => isSame(other, term));
}

/** Weight of a term among rules: it counts less the more of them have it. */
export function ruleWeights(rules: readonly { text: string }[]): (term: string) => number {
  const known = new Map<string, number>();
  return (term) => {
    let weight = known.get(term);
    if (weight === undefined) {
      const having = rules.filter((rule) => has(topicOf(rule).all, term)).length;
      weight = termWeight(term) / Math.max(1, having);
      known.set(term, weight);
    }
    return weight;
  };
}

/** Weight of the terms that another list has, too, and their share of the weight of all. */
export function shareOf(
  terms: readonly string[],
  others: readonly string[],
  weight: (term: string) => number,
): { sum: number; share: number } {
  const total = (list: readonly string[]): number => list.reduce((sum, term) => sum + weight(term), 0);
  const sum = total(terms.filter((term) => has(others, term)));
  return { sum, share: sum === 0 ? 0 : sum / total(terms) };
}

/** Share of the terms of two lists that both have; 1 for two empty lists. */
export function isAlike(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 && b.length === 0) return 1;
  const shared = a.filter((term) => has(b, term)).length;
  return shared / (a.length + b.length - shared);
}

/** Whether one of two lists has all terms of the other. */
export function isWithin(a: readonly string[], b: readonly string[]): boolean {
  return a.every((term) => has(b, term)) || b.every((term) => has(a, term));
}

/** Properties of an answer that have one value at a time. */
const TOPIC_SLOTS: readonly [string, RegExp][] = [
  [
    "language",
    /\b(?:answer|reply|respond|write|speak|talk|communicate|answers|replies|text|texts)\b.{0,40}\bin (?:\w+ )?(?:english|german|french|spanish|italian|portuguese|dutch|russian|polish|czech|swedish|danish|norwegian|finnish|greek|turkish|arabic|hebrew|hindi|chinese|mandarin|japanese|korean|thai|vietnamese|latin|ukrainian)\b/i,
  ],
  ["name", /\b(?:call|address) me\b/i],
  ["units", /\b(?:metric|imperial|celsius|fahrenheit|kelvin|kilomet\w+|miles)\b/i],
  ["currency", /\b(?:in|use) (?:\w+ )?(?:euros?|dollars?|pounds?|yen|francs?|rupees?|usd|eur|gbp|chf)\b/i],
  ["indentation", /\b(?:tabs|(?:two|four|2|4|eight|8) spaces|spaces)\b/i],
  ["quotes", /\b(?:single|double) quotes\b/i],
  ["clock", /\b(?:12|24|twelve|twenty-four)[- ]hour\b/i],
  [
    "length",
    /\b(?:short|brief|concise|terse|long|longer|detailed|verbose|at most \w+ (?:words|sentences|lines)|(?:in|under|within|to) \w+ (?:words|sentences|lines))\b/i,
  ],
  ["layout", /\b(?:bullet points?|bullets|bulleted|numbered lists?|tables?|plain prose|paragraphs?)\b/i],
  ["tone", /\b(?:formal|informal|casual|polite|friendly)(?:ly)?\b/i],
  ["sign-off", /\b(?:sign(?: off)?|end|close|finish) (?:\w+ ){0,4}with\b/i],
  ["opening", /\b(?:begin|start|open) (?:\w+ ){0,4}with\b/i],
];
/** Names of languages in answers, in other languages than English. */
const FOREIGN_LANGUAGE =
  /(?<!\p{L})(?:auf (?:deutsch|englisch|französisch|spanisch|italienisch|russisch)|en (?:français|anglais|allemand|espagnol|italien|español|inglés|alemán|francés)|in (?:italiano|inglese|tedesco|francese|spagnolo|het (?:engels|nederlands|duits|frans|spaans))|em (?:português|inglês|alemão|francês|espanhol)|(?:на |по-)(?:русск|англ|немец|франц|испан|итальян|китай|япон)\p{L}+|(?:українськ|англійськ|німецьк|російськ)ою|στα (?:ελληνικά|αγγλικά|γαλλικά|γερμανικά|ισπανικά))(?!\p{L})|हिं?दी|हिन्दी|अंग्रेज़ी|अंग्रेजी|ب(?:ال)?(?:إنجليزية|عربية|فرنسية|ألمانية|إسبانية)|(?:中|英|法|德|日|韩|韓|俄)(?:文|语|語)|(?:日本|英|フランス|ドイツ|中国|韓国)語|(?:한국|영|프랑스|독일|중국|일본)어|ภาษา[\p{L}\p{M}]/iu;
/** Words of a case, in other languages than English: what holds in one replaces nothing that always holds. */
const FOREIGN_CASE =
  /(?<!\p{L})(?:wenn|falls|quand|lorsque|cuando|cada vez|quando|ogni volta|als ik|keer|когда|если|коли|όταν|κάθε φορά|αν)(?!\p{L})|जब|अगर|عندما|كلما|إذا|当|當|每当|每次|如果|たら|とき|時|場合|때|면|เมื่อ|ทุกครั้งที่|ถ้า/iu;
const USE_FOR = /\buse ([\w.+#/-]+(?: [\w.+#/-]+)?) (?:for|as|to) (?:the |all |my |our )?([\w -]{3,40})/i;

interface RuleTopic {
  all: string[];
  /** Terms of the case in which it holds; empty for all cases. */
  condition: string[];
  /** Properties of the answer that it sets. */
  slots: string[];
}

const topics = new WeakMap<{ text: string }, RuleTopic>();

/** Topic of a rule, read once. */
export function topicOf(rule: { text: string }): RuleTopic {
  let topic = topics.get(rule);
  if (!topic) topics.set(rule, (topic = readTopic(plainWords(rule.text))));
  return topic;
}

function readTopic(sentence: string): RuleTopic {
  const at = sentence.search(CONDITION);
  const rest = at < 0 ? "" : sentence.slice(at);
  const comma = rest.search(/,|\b(?:always|never|please)\b/i);
  const condition = comma < 0 ? rest : rest.slice(0, comma);
  const action = condition === "" ? sentence : sentence.replace(condition, " ");
  const slots = TOPIC_SLOTS.flatMap(([slot, pattern]) => (pattern.test(action) ? [slot] : []));
  if (FOREIGN_LANGUAGE.test(action) && !FOREIGN_CASE.test(action)) slots.push("language");
  const purpose = USE_FOR.exec(action)?.[2];
  if (purpose !== undefined) slots.push(`use for ${contentTerms(purpose).join(" ")}`);
  return { all: contentTerms(sentence), condition: contentTerms(condition), slots };
}
