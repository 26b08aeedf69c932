/** Questions without their mark: a clause that begins with a word that asks, or has one where a language puts it elsewhere. */
import { isLatin } from "../store/search/fold.ts";

/**
 * Words that begin a question, in the languages whose words the index knows; without those that begin other sentences as often
 * (`when`, `was`, `como`, `что`).
 */
const BEGINNING: ReadonlySet<string> = new Set(
  (
    "how what where which who whom whose why wie wer wann wo warum welche welcher welches wen wem comment où pourquoi quel quelle quels quelles " +
    "combien qui cómo qué cuándo dónde quién cuál cuánto dove chi perché quale onde quem qual hoe wat wanneer waar waarom welk " +
    "где куда откуда кто кого кому почему зачем сколько какой какая какое какие каком какую чей чья де куди звідки хто чому скільки який яка " +
    "πού πότε ποιος ποια ποιο ποιον ποιοι γιατί πόσο πόσα πόσες πόση τι πώς איפה מתי מי למה כמה איזה איזו איך " +
    "أين متى ماذا كيف لماذا كم هل أي ما क्या कब कहाँ कौन क्यों कैसे कितना कितने कितनी"
  ).split(" "),
);
/** Beginnings with such a word that do not ask, and with another one that do. */
const EXCLAIMS = /^what an? /i;
const ASKS_WHEN = /^when(?:['’]s the| (?:did|do|does|is|are|was|were|will|has|have|had))\b/i;

/** Words that ask inside a clause, in languages that keep the order of a statement. */
const INSIDE: readonly RegExp[] = [
  // Chinese
  /什么|什麼|哪[里裡裏儿兒个個些天年位]|谁|誰|怎么|怎麼|怎样|怎樣|为什么|為什麼|多少|几点|幾點|几次|幾次|多久|[吗嗎呢]$/u,
  // Japanese: a clause that ends as questions do.
  /(?:何|どこ|いつ|誰|だれ|どう|どの|どれ|どんな|なぜ|いくつ|いくら).*(?:か|かな|の|っけ|教えて|だった|でした)$/u,
  // Korean
  /(?:^|\s)(?:어디|언제|누구|누가|무엇|무슨|뭐|뭘|왜|어떻|어떤|어느|몇|얼마)/u,
  // Thai
  /อะไร|ที่ไหน|ไหน$|ใคร|เมื่อไ|ทำไม|กี่|เท่าไ|อย่างไร|ยังไง|ไหม$|มั้ย$/u,
  // Hindi
  /(?:^|\s)(?:कब|कहाँ|कहां|कौन|किस|किसने|किसका|किसकी|क्यों|कैसे|कितना|कितने|कितनी|क्या)(?:\s|$)/u,
];
/** Characters of a clause without spaces, and words of one with them, that is long enough to ask something. */
const LEAST_CHARS = 4;
const LEAST_WORDS = 3;

function begins(query: string, words: readonly string[]): boolean {
  const word = (words[0] ?? "").replace(/^[^\p{L}]+/u, "").replace(/['’].*$/, "");
  return (BEGINNING.has(word) && !EXCLAIMS.test(query)) || ASKS_WHEN.test(query);
}

/** Whether one clause asks, as people type a question without its mark. */
export function asksByWords(query: string): boolean {
  // A period of another script ends a statement.
  const clause = query.trim().replace(/[。।]$/u, "");
  if (/[!.,;:](?:\s|$)|\n|[。！，、；।،]/u.test(clause)) return false;
  const words = clause.toLowerCase().split(/\s+/);
  if (words.length >= LEAST_WORDS && begins(clause, words)) return true;
  return !isLatin(clause) && clause.length >= LEAST_CHARS && INSIDE.some((asking) => asking.test(clause));
}
