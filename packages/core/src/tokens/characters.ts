/** Classes of UTF-16 code units, as the pre-tokenizer of `o200k_base` distinguishes them. */
export const LOWER = 0;
export const UPPER = 1;
/** Latin letters with the diacritics of western Europe (Latin-1). */
export const ACCENTED = 2;
/** Every other Latin letter beyond ASCII: Czech, Polish, Turkish, Vietnamese. */
export const EXTENDED = 3;
/** Classes from here on are letters that form separate words: Cyrillic first. */
export const CYRILLIC = 4;
const GREEK = 5;
/** Hebrew, Arabic, Indic, Thai and every other alphabet. */
const OTHER_LETTER = 6;
const HANGUL = 7;
const KANA = 8;
const HAN = 9;
/** Han characters that are often merged with their neighbours; see `MERGED_HAN`. */
const HAN_MERGED = 10;
/** Classes up to here are letters. */
export const LAST_LETTER = HAN_MERGED;
export const DIGIT = 11;
export const SPACE = 12;
/** Tab and the rarer blanks; unlike a space they never join a run of signs. */
const BLANK_CLASS = 13;
export const NEWLINE = 14;
/** Classes from here on are signs. */
export const SIGN = 15;
/** Punctuation beyond ASCII: typographic quotes, dashes, full-width punctuation. */
const WIDE_SIGN = 16;
/** Arrows, box drawing, dingbats, variation selectors. */
export const SYMBOL = 17;
/** Half of a surrogate pair: emoji and rare characters. */
export const SURROGATE = 18;

/** First code unit and class of each range; a range ends where the next one begins. */
const RANGES: readonly (readonly [number, number])[] = [
  [0x00, SIGN],
  [0x09, BLANK_CLASS],
  [0x0a, NEWLINE],
  [0x0b, BLANK_CLASS],
  [0x0d, NEWLINE],
  [0x0e, SIGN],
  [0x20, SPACE],
  [0x21, SIGN],
  [0x30, DIGIT],
  [0x3a, SIGN],
  [0x41, UPPER],
  [0x5b, SIGN],
  [0x61, LOWER],
  [0x7b, SIGN],
  [0xa0, BLANK_CLASS],
  [0xa1, WIDE_SIGN],
  [0xaa, ACCENTED],
  [0xab, WIDE_SIGN],
  [0xb5, ACCENTED],
  [0xb6, WIDE_SIGN],
  [0xba, ACCENTED],
  [0xbb, WIDE_SIGN],
  [0xc0, ACCENTED],
  [0xd7, WIDE_SIGN],
  [0xd8, ACCENTED],
  [0xf7, WIDE_SIGN],
  [0xf8, ACCENTED],
  [0x100, EXTENDED],
  [0x370, GREEK],
  [0x400, CYRILLIC],
  [0x530, OTHER_LETTER],
  [0x1100, HANGUL],
  [0x1200, OTHER_LETTER],
  [0x1e00, EXTENDED],
  [0x1f00, GREEK],
  [0x2000, BLANK_CLASS],
  [0x200b, SYMBOL],
  [0x2010, WIDE_SIGN],
  [0x2028, BLANK_CLASS],
  [0x202a, WIDE_SIGN],
  [0x2070, SYMBOL],
  [0x2c00, OTHER_LETTER],
  [0x2e00, WIDE_SIGN],
  [0x3000, BLANK_CLASS],
  [0x3001, WIDE_SIGN],
  [0x3005, HAN],
  [0x3008, WIDE_SIGN],
  [0x3041, KANA],
  [0x3100, OTHER_LETTER],
  [0x3130, HANGUL],
  [0x3190, WIDE_SIGN],
  [0x31f0, KANA],
  [0x3200, SYMBOL],
  [0x3400, HAN],
  [0x4dc0, SYMBOL],
  [0x4e00, HAN],
  [0xa000, OTHER_LETTER],
  [0xac00, HANGUL],
  [0xd800, SURROGATE],
  [0xe000, SYMBOL],
  [0xf900, HAN],
  [0xfb00, OTHER_LETTER],
  [0xfe00, SYMBOL],
  [0xfe10, WIDE_SIGN],
  [0xfe70, OTHER_LETTER],
  [0xfeff, SYMBOL],
  [0xff01, WIDE_SIGN],
  [0xff10, DIGIT],
  [0xff1a, WIDE_SIGN],
  [0xff21, EXTENDED],
  [0xff3b, WIDE_SIGN],
  [0xff41, EXTENDED],
  [0xff5b, WIDE_SIGN],
  [0xff66, KANA],
  [0xffa0, HANGUL],
  [0xffe0, WIDE_SIGN],
  [0xfff0, SYMBOL],
];

/**
 * Han characters that are in three or more tokens of two or three characters in the vocabulary of `o200k_base`.
 * They distinguish modern simplified Chinese (0.7 tokens a character) from traditional and classical texts (1.0).
 */
const MERGED_HAN =
  "一万三上下不与专世业东个中为主举久么义之乐九也书买乱了予争事二于五亚些交产享京人什今介他付代以们件价" +
  "任份企众优会传伦位住体何作你例保信修俺值假做停偷像元先克免兑党入全公六共关其具养内册冠准几出分划列则" +
  "创初利别到制刷前力办加务动助势動務包化北区医十午华协单南博卡即历原去县参及友双反发取受变口另只可台右" +
  "号司合同名后吗告员命和品哪售商啪器四回因国图在地场址型城域基堂場增士处备复外多夜大天太央奇奖套女好如" +
  "妇始姐委娱婆子字存学宁安完官定宝实客家容对导小少就尼局展属山川州工市布师常幕平年广序库应底度建开式强" +
  "当录彩影待律得微心必快态怎思性总息情想意感成我战截户房所手打扫技投护报拍招持挂指按换据排接推提搜播支" +
  "收改放政效教数整文料斯新方施旗无日时明易星是時晚普更最月有朋服期未本机权材来极林果查标校样格案模次欢" +
  "款止正此步比民水求江没河治法注洲活流测海消深港游源满演漫点热然熟爱爽片版牌物特犯狠率王玩环现球理生用" +
  "由电男画略病登白百的益监盘目直相看真着知码研破确碰示社神票福种科秘积称程稳空突立站竞符第等简算管米类" +
  "精系素索红级纪线组经结给统续维综编网置美群老考者职联肖股胆能自至航色节英草菜营蕉藏虎融行表装西要观规" +
  "视觉解言設计认议讯记许论设诀证评识词试话语说请调谱資财责账质购费资赌赚赛赢起超足跑路身載车转软载输达" +
  "过运近返还这进违追退送选透通速造道那部都采里重量金钟钱银销长開間门问间阳际限院除险随集電需霸青靠面音" +
  "页项预领频题额首香马验骗高黄黑龙";

function buildClasses(): Uint8Array {
  const classes = new Uint8Array(0x1_0000);
  for (const [first, characterClass] of RANGES) classes.fill(characterClass, first);
  for (let at = 0; at < MERGED_HAN.length; at++) classes[MERGED_HAN.charCodeAt(at)] = HAN_MERGED;
  return classes;
}

/** Class of every UTF-16 code unit; 64 KiB, filled once, read-only. */
export const CHARACTER_CLASSES: Readonly<Uint8Array> = buildClasses();
