/**
 * Whether an error speaks of a context that is too long, by its words in any order and in the languages of providers. A list of
 * sentences is never complete: each server and each version has its own.
 */

/** Limits by time, quotas and money: these count tokens too. */
const OTHER_LIMITS =
  /rate.?limit|per.?(?:min|minute|hour|day|second)\b|\bT[PK]M\b|\bRPM\b|too many requests|quota|billing|balance|频率|限流|速率|配额|额度|余额|每分钟|レート|毎分|クォータ|분당|속도|할당량|в минуту|квот|pro minute|par minute|por minuto|al minuto|kontingent/i;
/** Tokens of authorization and of parsers. */
const OTHER_TOKENS =
  /(?:invalid|expired|unexpected|access|auth\w*|bearer|refresh|session|api|csrf|missing|security|bad|wrong) token|token (?:is |was |has )?(?:invalid|expired|missing|revoked)|tokenizer|unauthori[sz]ed|budget_tokens|(?:must|should) be (?:greater|at least)/i;
/** Fields with a short limit of their own. */
const SHORT_FIELD =
  /max(?:imum)?[ _](?:allowed )?length(?: is| of|:| =)? ?\d{1,4}\b(?![,.]?\d)|at most \d{1,3} characters/i;
/** Limits of the answer. */
const OF_ANSWER =
  /max_\w*tokens|max(?:imum)? (?:number of )?(?:output|completion|new)|(?:completion|output|generated) tokens/i;

const EXCESS =
  /exceed|excess|(?:must|should) be (?:<=?|\[|less|below|at most|between)|too (?:long|large|many|big)|(?:greater|longer|larger|more|bigger|higher) than|\bover\b|overflow|maximum|\bmax\b|at most|only supports?|up to|\blimit|reduce|shorten|truncat|(?:not|n't|cannot) fit|out of/i;
/** Where one of these is too long, it can be nothing else. */
const CONTEXT =
  /context[ _-]?(?:window|length|size|limit|budget)|(?:window|length|size) of (?:the )?context|\bn_ctx\b|\bnum_ctx\b|max_model_len|max_seq(?:uence)?_len|kv.?cache|maximum (?:input|prompt|sequence|model) length/i;
const INPUT =
  /\b(?:inputs?|prompts?|context|conversations?|messages?|history|sequence|request(?:ed|s)?|chat|instructions?|total)\b/i;
const LENGTH_WORDS = /tokens?\b|\blength|\blong(?:er)?\b|token[ _]?(?:count|limit)/i;

/** Pairs of words for the input and for excess, in the languages of providers. */
const OVERFLOW_LANGUAGES: readonly (readonly [subject: RegExp, excess: RegExp])[] = [
  [
    /上下文|输入|輸入|提示|对话|對話|消息|訊息|请求|請求|文本|内容|長度|长度|token/i,
    /[过過太]长|[過太]長|超过|超過|超出|超长|超長|超限|溢出|大于|上限/,
  ],
  [/コンテキスト|トークン|入力|プロンプト|メッセージ|会話|文脈/, /超え|超過|長すぎ|大きすぎ|多すぎ|上限/],
  [/컨텍스트|토큰|입력|프롬프트|메시지|문맥|대화/, /초과|너무\s*(?:길|많|큽|크)|넘/],
  [/контекст|токен|запрос|ввод|промпт|сообщени|вхідн/i, /превы|перевищ|слишком|занадто|больше|лимит/i],
  [
    /kontext|token|eingabe|prompt|anfrage|nachricht|unterhaltung/i,
    /überschr|zu lang|zu groß|zu viele|überst|maximal/i,
  ],
  [
    /contexte|jetons?|token|entrée|prompt|requête|invite|conversation/i,
    /dépass|trop (?:long|grand|de)|excèd|supérieur|maximal/i,
  ],
  [
    /contexto|contesto|token|entrada|prompt|mensaje|mensagem|messaggi|conversa/i,
    /exced|supera|demasiad|muito (?:long|grand)|troppo|ultrapass|máxim|massim/i,
  ],
  [
    /context|invoer|prompt|bericht|kontekst|wejści|zapytani|wiadomo/i,
    /overschr|te lang|te groot|przekrac|zbyt (?:dług|duż|wiel)/i,
  ],
  [
    /bağlam|belirteç|girdi|istem|ngữ cảnh|đầu vào|konteks|masukan/i,
    /aş[ıtm]|çok uzun|vượt|quá dài|melebihi|terlalu panjang/i,
  ],
  [/السياق|الرموز|الإدخال|المدخلات|संदर्भ|टोकन|इनपुट/, /تجاوز|طويل|يتجاوز|अधिक|लंब/],
];

export function speaksOfLength(text: string): boolean {
  if (OTHER_LIMITS.test(text)) return false;
  if (CONTEXT.test(text) && EXCESS.test(text)) return true;
  if (/context.?(?:window|length|size)?.?(?:exceeded|overflow|too.?long)/i.test(text)) return true;
  if (OTHER_TOKENS.test(text) || SHORT_FIELD.test(text)) return false;
  if (OVERFLOW_LANGUAGES.some(([subject, excess]) => subject.test(text) && excess.test(text))) return true;
  const isOfAnswer =
    OF_ANSWER.test(text) && !/\b(?:inputs?|prompts?|context|messages?|conversation)\b/i.test(text);
  return !isOfAnswer && INPUT.test(text) && LENGTH_WORDS.test(text) && EXCESS.test(text);
}
