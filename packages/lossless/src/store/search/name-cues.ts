/** Names in scripts without capitals, by the words beside them. */
import { fold, isLatin } from "./fold.ts";
import { isForeignStopWord } from "./stop-words.ts";

/** Frequent Chinese surnames, and what is before a first name. */
const SURNAMES = new Set(
  "王李张張刘劉陈陳杨楊赵趙黄黃周吴吳徐孙孫胡朱高林何郭马馬罗羅梁宋郑鄭谢謝韩韓唐冯馮于董萧蕭程曹袁邓鄧许許傅沈曾彭吕呂苏蘇卢盧蒋蔣蔡贾賈丁魏薛叶葉阎閻余潘杜戴夏钟鍾汪田任姜范范方石姚谭譚廖邹鄒熊金陆陸郝孔白崔康毛邱秦江史顾顧侯邵孟龙龍万萬段雷钱錢汤湯尹黎易常武乔喬贺賀赖賴龚龔文小老阿",
);
const JAPANESE_TITLE = /^(?:さん|ちゃん|くん|君|様|さま|氏|先生|先輩)$/;

/** Words after a name: Korean titles, and Hindi ones for who does or has something. */
const AFTER = new Set(
  "씨 씨는 씨가 씨의 씨를 씨와 씨랑 씨도 씨한테 씨에게 님 님은 님이 님의 군 양 जी ने का की के".split(" "),
);

/** Hindi words after which a noun is one of a kind and no name: `किस शहर के`, `मेरे दोस्त की`. */
const DETERMINERS = new Set(
  "किस किन कौन कौनसे कौनसी कितने कितनी इस उस इन उन हर सब मेरे मेरी मेरा हमारे हमारी तुम्हारे तुम्हारी आपके आपकी अपने अपनी इसके इसकी उसके उसकी उनके उनकी नए नई पुराने पुरानी पिछले पिछली अगले अगली".split(
    " ",
  ),
);

/** Thai: words before a person, and between a noun and who does something with it (`ขนมที่มาลีทำ`). */
const THAI_BEFORE = new Set("ของ กับ คุณ นาย นาง นางสาว ลุง ป้า ครู อาจารย์".split(" "));
const THAI_RELATIVE = "ที่";
/** Thai: words that begin what a person does. */
const THAI_VERBS = new Set("จะ ได้ เคย ให้ ทำ ไป มา มี ซื้อ ส่ง ใช้ บอก พูด ชอบ อยาก ต้อง กำลัง ไม่ ยัง".split(" "));
const THAI = /^\p{Script=Thai}+$/u;
/** Parts that the dictionary cuts a name into at most. */
const THAI_PARTS = 3;
/** Thai: words of the time that a sentence begins with, before what it is about. */
const THAI_TIME = new Set(
  "ตอน เช้า สาย เที่ยง กลาง บ่าย เย็น ค่ำ ดึก วัน คืน สัปดาห์ อาทิตย์ เดือน ปี หน้า ก่อน พรุ่งนี้ เมื่อวาน เมื่อวานนี้ เมื่อคืน เมื่อเช้า วันนี้ คืนนี้ ปกติ ช่วง เสาร์ จันทร์ อังคาร พุธ ศุกร์".split(
    " ",
  ),
);

const ARABIC = /^\p{Script=Arabic}+$/u;
/** Nouns that are known to speaker and listener: with an article, or with whose it is. */
const DEFINITE = /^(?:ال|لل|بال|وال)|(?:ه|ها|هم|(?<!ي|ا)نا|ي|ك|كم|ات|ين|ون)$/;
/** Arabic verbs of the present, and prepositions with whom they mean, after which comes who does it. */
const ARABIC_VERB = /^[يت]\p{Script=Arabic}{2,}(?<!ة)$/u;
const ARABIC_TO = new Set(
  "إليه إليها فيه فيها عليه عليها به بها له لها منه منها معه معها عنه عنها عنده عندها".split(" "),
);
/** Arabic words after a subject: prepositions and adverbs, unlike the noun that a noun belongs to. */
const ARABIC_AFTER = new Set(
  "في من إلى على عن مع كل بعد قبل الآن اليوم غدا أمس حاليا عادة الليلة هذا هذه هناك هنا دائما غالبا".split(
    " ",
  ),
);
/** An object without an article, for example `خبزا`; many names end in `يا` and `نا`. */
const ARABIC_OBJECT = /(?<!ي|ن)ا$/;

/** Whether a sentence in Thai can begin with a word without being about it. */
export function isTimeBefore(word: string): boolean {
  return THAI_TIME.has(word);
}

/** The parts of a Thai name from a place on: up to a word that has no meaning of its own, or one part where there are too many. */
function thaiName(segments: readonly string[], from: number): { length: number; next: string | undefined } {
  const isPart = (at: number): boolean => {
    const segment = segments[at];
    return (
      segment !== undefined &&
      THAI.test(segment) &&
      !isForeignStopWord(fold(segment)) &&
      !THAI_VERBS.has(segment)
    );
  };
  let length = 0;
  while (isPart(from + length)) length += 1;
  return { length: length > THAI_PARTS ? 1 : length, next: segments[from + length] };
}

/** The places of a Thai name after a word that comes before one; none after any other. */
function thaiNameAfter(segments: readonly string[], at: number): number[] {
  const segment = segments[at] ?? "";
  const isRelative = segment === THAI_RELATIVE && at > 0;
  if (!isRelative && !THAI_BEFORE.has(segment)) return [];
  const { length, next } = thaiName(segments, at + 1);
  if (isRelative && !THAI_VERBS.has(next ?? "")) return [];
  return Array.from({ length }, (_, index) => at + 1 + index);
}

/** The places of the names among the segments of a run. */
export function namesAmong(segments: readonly string[]): ReadonlySet<number> {
  const names = new Set<number>();
  const isLone = (at: number): boolean => segments[at] !== undefined && Array.from(segments[at]).length === 1;
  for (const [at, segment] of segments.entries()) {
    if (JAPANESE_TITLE.test(segment) && at > 0) names.add(at - 1);
    for (const place of thaiNameAfter(segments, at)) names.add(place);
    if (!SURNAMES.has(segment) || !isLone(at + 1)) continue;
    names.add(at).add(at + 1);
    if (isLone(at + 2)) names.add(at + 2);
  }
  return names;
}

/** Whether a word of an Arabic question is who owns or does something. */
function isArabicName(word: string, before: string | undefined, after: string | undefined): boolean {
  if (before === undefined || !ARABIC.test(word) || DEFINITE.test(word) || !ARABIC.test(before)) return false;
  // Who does it, after the verb: `أين يعمل سامي الآن؟`.
  const isAfterVerb = ARABIC_TO.has(before) || (ARABIC_VERB.test(before) && !DEFINITE.test(before));
  const next = after?.replace(/\P{L}+$/u, "");
  if (isAfterVerb && !ARABIC_OBJECT.test(word)) return next === undefined || ARABIC_AFTER.has(next);
  // The last word, after whose thing is asked for: `ما لون دراجة سامي؟`.
  return after === undefined && !DEFINITE.test(before);
}

/** Whether a word between others is a name. */
export function isCuedName(word: string, before: string | undefined, after: string | undefined): boolean {
  if (isLatin(word)) return false;
  if (isArabicName(word, before, after)) return true;
  // The cat of `राहुल की बिल्ली को` has an owner, and is no name.
  const isFree = before === undefined || !(AFTER.has(before) || DETERMINERS.has(before));
  return after !== undefined && AFTER.has(after) && isFree;
}
