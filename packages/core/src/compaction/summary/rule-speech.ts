/** How a sentence speaks: quoted words of others, questions, hypotheses, and statements about people themselves set no rule. */

/** Quotation marks by script, and code spans, on one line or over hard wraps; an apostrophe in a word is no mark. */
const QUOTES =
  /(?<![\p{L}\p{N}])"(?=\S)(?:[^"\n]|\n(?!\s*\n)){1,400}"|“[^”]{1,400}”|„[^“”]{1,400}[“”]|«[^»]{1,400}»|「[^」]{1,400}」|『[^』]{1,400}』|`[^`\n]{1,400}`|(?<![\p{L}\p{N}])['‘](?=\p{L})(?:[^'’\n]|['’](?=\p{L})){1,400}['’](?!\p{L})/gu;
/** Ends of sentences, and the private characters in their place within quotes while a text is split. */
const ENDS = ".!?。！？";
const FIRST_PRIVATE = 0xe000;

/** A text in which no sentence ends within a quote: `The sign reads "Never. Always."` is one. */
export function withWholeQuotes(text: string): string {
  return text.replace(QUOTES, (quote) =>
    // A mark before the closing quote may end the sentence, but for those of scripts without a space after it.
    quote.replaceAll(/[.!?](?=[^]{2})|[。！？]/g, (mark) =>
      String.fromCharCode(FIRST_PRIVATE + ENDS.indexOf(mark)),
    ),
  );
}

/** The text again as it was before `withWholeQuotes`. */
export function withEndsOfQuotes(text: string): string {
  return text.replaceAll(/[\ue000-\ue005]/g, (mark) => ENDS.charAt(mark.charCodeAt(0) - FIRST_PRIVATE));
}

/** A sentence without what it quotes. */
export function unquoted(sentence: string): string {
  return sentence.replaceAll(QUOTES, " ").trim();
}

const QUESTION =
  /[?？؟]["')\]»”」]*$|\p{Script=Greek}[^?]*[;\u037e]$|[吗嗎][。]?$|(?:ます|です)か。?$|^ทำไม|(?:ไหม|มั้ย|หรือเปล่า|หรือไม่)(?:ครับ|ค่ะ|คะ)?$/u;

export function isQuestion(sentence: string): boolean {
  return QUESTION.test(sentence);
}

/** A question that is an order, in other languages than English: `Kannst du bitte …?` */
const POLITE =
  /(?<!\p{L})(?:kannst|könntest|würdest|können|könnten|würden) (?:du|sie)(?!\p{L})|(?:peux|pourrais)-tu|(?:pouvez|pourriez)-vous|(?<!\p{L})(?:tu peux|vous pouvez|puedes|podrías|puede usted|podría|puoi|potresti|può|pode|podes|poderia|poderias|kun je|kunt u|zou je|wil je|можешь|можете|(?:не )?мог(?:ла|ли)? бы|можеш|μπορείς|θα μπορούσες|μπορείτε)(?!\p{L})|क्या .*सक(?:ते|ती|ेंगे)|(?:هل|أ)? ?(?:يمكنك|تستطيع|بإمكانك|ممكن)|能不能|可不可以|可否|(?:可以|能).*[吗嗎]|(?:もらえ|いただけ|くれ|頂け)(?:ます|ません|る|ない)|(?:줄|주실) 수|줄래|주시겠|줘도|ช่วย.*(?:ไหม|มั้ย|หรือเปล่า|หรือไม่)|ได้(?:ไหม|มั้ย|หรือเปล่า)/iu;

/** A wish that is an order, in those languages: `Ich möchte, dass du …` */
const WISH =
  /^(?:ich (?:möchte|will|wünsche mir|bitte dich|erwarte)|je (?:veux|voudrais|souhaite|préfère|préférerais) que|j'aimerais que|(?:yo )?(?:quiero|prefiero|me gustaría) que|(?:eu )?(?:quero|prefiro|gostaria) que|(?:io )?(?:voglio|vorrei|preferisco) che|ik wil (?:graag )?dat|я (?:хочу|прошу|хотел(?:а)? бы),? (?:чтобы|тебя|вас)|я (?:хочу|прошу),? щоб|θέλω να|θα ήθελα να|मैं चाहत(?:ा|ी) |أريدك أن|أريد (?:منك )?أن|أنا أريد|我(?:希望|想让|想請|想请|要)你)|(?:てほしい|て欲しい)|(?:으면|면) 좋겠/iu;

/** Whether an order has the form of a question or a wish. */
export function asksPolitely(sentence: string): boolean {
  return isQuestion(sentence) ? POLITE.test(sentence) : WISH.test(sentence);
}

/** Always and never, in other languages than English. */
export const ALWAYS_OR_NEVER =
  /(?<!\p{L})(?:immer|stets|nie|niemals|nicht mehr|toujours|jamais|siempre|nunca|sempre|mai|altijd|nooit|всегда|никогда|больше не|завжди|ніколи|πάντα|ποτέ)(?!\p{L})|हमेशा|कभी|دائم|أبد|总是|總是|永远|永遠|一直|每次|いつも|必ず|常に|毎回|항상|언제나|매번|เสมอ|ทุกครั้ง/iu;

/** An imagined case: a question about it asks for nothing, and an order to imagine is for one answer. */
const IMAGINED =
  /^(?:(?:and|but|so|ok|okay|well|hey),? )*(?:what if|suppose|supposing|imagine|hypothetically|let's say)\b/i;
const IF_IT_WERE =
  /^(?:(?:and|but|so|ok|okay|well|hey),? )*if (?:i|we|you|they|some(?:one|body)|an? \p{L}+) (?:ever )?(?:told|asked|said|wanted|were|had|did|made|gave|wrote|ordered)\b|^(?:et |y |e |und |en |и |а |και )?(?:si (?:je|te|yo|tu|ti|io|un)|wenn ich dich|falls ich|se (?:eu|io|ti|te|lo)|als ik je zou|stel dat|если бы|якби|αν )|^¿?si |^(?:अगर|यदि|لو |ماذا لو|إذا |如果|假如|要是|もし|만약|만일|ถ้า|หาก|สมมติ)/iu;

export function isHypothesis(sentence: string): boolean {
  return IMAGINED.test(sentence) || (isQuestion(sentence) && IF_IT_WERE.test(sentence));
}

/** Sentences about people themselves, by their subject. */
const SUBJECT =
  /^(?:ich|wir|er|sie|es|man|je|j'|nous|il|elle|ils|elles|on|yo|nosotros|él|ella|ellos|eu|nós|ele|ela|io|noi|lui|lei|ik|wij|hij|zij|я|мы|он|она|они|ми|він|вона|вони|εγώ|εμείς|αυτός|αυτή|मैं|हम|वह|वे|أنا|نحن|هو|هي|كنت|私は|僕は|俺は|彼は|彼女は|私たちは|나는|저는|우리는|우리|그는|그녀는)(?![\p{L}\p{M}])|^(?:ฉัน|ผม|ดิฉัน|เรา)(?!ถาม|ขอ|ส่ง|อยาก|ต้องการ)|^(?:เขา|เธอ|พวกเขา|แม่|พ่อ|พี่|น้อง|เพื่อน|ครู|หัวหน้า)|^我(?!问|問|说|說|提|要|让|讓|希望|想|发|發|贴|貼|给|給)|^(?:他|她|它|咱们|大家|有人|爸|妈|媽|老师|老師|老板|老闆|同事|朋友|孩子)/iu;
/** The same after words of time: `Ab jetzt wohne ich …`, `Désormais j'habite …`; a wish is an order. */
const SELF_INSIDE =
  /(?<=^(?:ab|von|künftig|in zukunft|vanaf|voortaan|in het vervolg|in de toekomst)(?!\p{L}).{2,50} )(?<!(?:möchte|will|bitte|hätte|wünsche|erwarte|brauche|wenn|dass|was|wo|wie|wil|zou|als|dat|wat) )(?:ich|wir|ik|wij|we)(?!\p{L})|(?:désormais|dorénavant|à l'avenir|à partir de maintenant|отныне|впредь|теперь|с этого (?:дня|момента)|відтепер|надалі),? (?:je (?!veux|voudrais|souhaite|préfère|te|vous)|j'(?!aimerais)|nous |on |я (?!прошу|хочу)|мы |ми )/iu;
/** The same by the end of the verb, in languages that leave the subject out: `Nunca como carne`, `Ποτέ δεν τρώω`. */
const SELF_IN_VERB =
  /(?:^|[,;:] )(?:(?:siempre|nunca|jamás|sempre) (?!solo |sólo )\p{L}{2,}(?:o|mos|é|í|ía|aba|ei|i|ava|vo)|(?:a partir de ahora|de ahora en adelante|en adelante|a partir de agora|de agora em diante|d'ora in (?:poi|avanti)),? (?:yo |eu |io )?(?!quiero|prefiero|necesito|quero|prefiro|preciso|voglio|preferisco|como |solo |sólo |todo )\p{L}{2,}(?:o|mos|iamo)|(?:non?|não) (?:\p{L}+ )?\p{L}+(?:o|mos?|vo)|(?:πάντα|ποτέ|στο εξής,?) (?:δεν|\p{L}+(?:ω|ώ|μαι|με)))(?!\p{L})/iu;

/** `I never use the lift and always take the stairs`: both parts have one subject. */
const SHARED_SUBJECT =
  /^(?:i|we|he|she|they|(?:my|our|his|her|their) \p{L}+) (?!want|need|expect|prefer|would|ask)[^,;:.]{1,120} (?:and|but|or) (?:always|never) \p{L}/iu;

export function isSharedReport(sentence: string): boolean {
  return SHARED_SUBJECT.test(sentence);
}

export function isReport(sentence: string): boolean {
  if (asksPolitely(sentence)) return false;
  return SUBJECT.test(sentence) || SELF_INSIDE.test(sentence) || SELF_IN_VERB.test(sentence);
}
