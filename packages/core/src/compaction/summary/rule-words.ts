/** Words with which people set a rule for all later answers, and with which they take one back, by language. */

/** Orders in other languages that end a habit, as `STOPS`; words that forbid, as `FORBIDS`; and words that replace a rule, as `REPLACES`. */
export const STOPS_FOREIGN =
  /(?<!\p{L})(?:(?:nicht|keine?n?) .{0,40}mehr|hör(?:e)? (?:bitte )?(?:damit )?auf|(?:ne |n').{1,40} plus|(?:arrête|cesse)z? (?:de |d')|(?:deja|deje|para|pare) de|no .{1,40} más|smetti(?:la)? di|non .{1,40} più|não .{1,40} mais|(?:geen|niet) .{0,40}meer|stop met|hou op met|больше не|перестань(?:те)?|прекрати(?:те)?|хватит|більше не|досить|σταμάτα|μην? .{1,40} πια)(?!\p{L})|बंद कर|अब .{0,40}मत|توقف|لا ت.{1,60}بعد الآن|(?:不要|别|別)(?:再|.{0,12}了)|停止|もう.{0,40}ないで|(?:やめて|止めて)|그만|(?:더 이상|이제) .{1,40}(?:마|말)|หยุด|เลิก|อย่า.{1,40}อีก/iu;
export const FORBIDS_FOREIGN =
  /(?<!\p{L})(?:nie|niemals|nicht|keine?n?|jamais|ne|n'\p{L}+|nunca|jamás|no|non|mai|não|nooit|niet|geen|никогда|не|ніколи|μην?|ποτέ)(?!\p{L})|मत|नहीं|لا ت|不|别|別|禁|ないで|しない|(?:지|하지) ?(?:마|말)|อย่า|ห้าม|ไม่/iu;
export const REPLACES_FOREIGN =
  /(?<!\p{L})(?:statt|stattdessen|ab (?:jetzt|sofort|heute)|künftig|à la place|désormais|plutôt|en (?:lugar|vez) de|em vez de|a partir de (?:ahora|agora)|invece|d'ora in poi|in plaats van|теперь|вместо|тепер|замість|αντί)(?!\p{L})|बजाय|की जगह|بدلا|改(?:用|成|为|為)|而是|ではなく|代わり|말고|대신|แทน/iu;
/** Words of a replacement for the rule that it ends, in other languages, before or after it. */
export const REPLACED_FOREIGN =
  /(?:statt|anstatt|anstelle von|nicht|au lieu de|plutôt que|en lugar de|en vez de|em vez de|invece di|in plaats van|а не|вместо|замість|αντί για|αντί|και όχι|بدلا من|بدل|وليس|而不是|不是|别用|別用|不要用|不再|แทน(?:ที่)?) ?([^,.;،，。]{2,40})|([^,.;،，、。]{1,30}?) ?(?:के बजाय|की जगह|के बदले|ではなく|じゃなくて|の代わりに|말고|대신|가 아니라|이 아니라)/iu;

/** A sentence with the apostrophes that the patterns know. */
export function plainWords(sentence: string): string {
  return sentence.replaceAll("’", "'").replaceAll(/\b(do)nt\b/gi, "$1n't");
}

interface RuleWords {
  /** A sentence that sets a rule. */
  rule: RegExp;
  /** What such a sentence also has, where people use the words of `rule` in other sentences. */
  asks?: RegExp;
  /** A sentence that takes one back. */
  revokes: RegExp;
}

/** What a person does whenever a rule is to hold. */
const ASKS =
  "(?:ask|say|mention|talk|send|share|write|type|paste|want|request|bring|post|give|use|tell|start|finish|complain|order|quote|show|need)";
/** When a rule holds, in English. */
export const CONDITION = new RegExp(
  `\\b(?:when(?:ever)?|if|every ?time|each time|any ?time) (?:i|we|someone|anyone|you) (?:\\w+ )?${ASKS}`,
  "i",
);
/** From when on, or how long. */
const PERIOD =
  "from (?:now|here|today|this point)(?: on(?:wards?)?)?|going forward|moving forward|henceforth|hereafter|in (?:the )?future|" +
  "for the (?:rest|remainder) of|until (?:i (?:say|tell)|further notice)|as a (?:general )?rule|by default|at all times";
/** The answers that a rule is about. */
const ANSWER_WORDS =
  "(?:new|house|ground|standing) rule|your (?:tone|style|wording)|(?:your|all|any|every|each|the|these|those) (?:\\w+ )?(?:answers?|repl(?:y|ies)|responses?|messages?|summar(?:y|ies)|explanations?|emails?|lists?|code)";
/** Words of a rule that names itself one. */
export const EXPLICIT = new RegExp(
  `\\b(?:${PERIOD}|(?:please|kindly) (?:always|never|stop|don't ever|no more)|call me|address me|${ANSWER_WORDS})\\b`,
  "i",
);
/** A sentence that begins with the time and then has an order, whatever the verb: `Going forward, sign each message`. */
export const BEGINS_WITH_PERIOD = new RegExp(
  `^(?:${PERIOD}),? (?:please |always |never |don't |do not )*(?!(?:i|i'\\w+|we|we'\\w+|he|she|it|it's|they|you|the|a|an|my|our|your|his|her|their|this|that|these|those|there|no|all|some|every|is|are|was|were|if|when)\\b)[a-z]+ `,
  "i",
);
/** Words of habit in an order. */
export const HABIT =
  /\b(?:always|never|every ?time|each time|any ?time|whenever|no more|stop \w+ing|quit \w+ing|don't ever|(?:don't|do not|not) \b.{1,80}\b(?:any ?more|ever|again)|only ever|no longer|remember to|make sure (?:to always|you always|that you always))\b/i;
/** What a person likes, of the answers. */
export const PREFERENCE =
  /\b(?:i(?:'d| would)? (?:strongly |really )?prefer|i(?:'d| would) (?:like|want) you to|i (?:need|want|expect) you to)\b/i;
/** Words that limit an order to one answer. */
export const ONCE =
  /\b(?:this time|just (?:this )?once|(?:only )?for (?:this|that) (?:one|answer|question|message|time)|right now|today only|for today|tonight|tomorrow|this (?:morning|afternoon|evening|weekend))\b/i;

/** What a person calls a rule. */
const NAMED =
  "(?:rules?|instructions?|requests?|preferences?|conditions?|requirements?|constraints?|guidelines?|habit|thing|bit|part|" +
  "what i (?:said|told you|asked(?: you)?(?: for)?|wanted)|i (?:said|told you|asked))";
/** A rule is taken back by its name: `Forget the rule about tabs`. */
export const ADDRESSED_BY_NAME = new RegExp(
  `\\b(?:forget|drop|ignore|disregard|cancel|scrap|undo|lift|remove|revoke|delete|never ?mind|skip|discard|withdraw|take back|ditch|done with)\\b.{0,30}\\b${NAMED}\\b|` +
    `\\b${NAMED}\\b.{0,60}\\b(?:no longer (?:applies|counts|holds|matters?)|(?:is|are) (?:off|over|void|obsolete|cancel+ed|lifted|gone|history)|doesn't (?:apply|matter|count) (?:any ?more|any longer|now))\\b|` +
    "\\b(?:i take (?:that|it|this) back|never ?mind (?:that|about)|scratch that|i (?:have |'ve )?changed my mind)\\b",
  "i",
);
/** All rules at once. */
export const BY_ALL = new RegExp(
  `\\b(?:forget|drop|ignore|disregard|cancel|scrap|lift|remove|revoke)\\b.{0,12}\\b(?:all|every)\\b.{0,30}\\b${NAMED}\\b`,
  "i",
);
/** What was forbidden is allowed: `You can use tabs again`. */
export const ALLOWS =
  /\b(?:you(?:'re| are)? (?:can|may|could|(?:free|allowed|welcome) to)|feel free to|(?:it's|it is|that's|that is|is|are) (?:now )?(?:fine|ok|okay|all right|alright|allowed|good)|go back to|back to)\b.{0,100}\b(?:again|now|after all|once more|any ?more|from now on|too)\b|\b(?:i|we) (?:don't|do not|no longer) mind\b|\b(?:is|are) (?:fine|ok|okay|all right|alright|allowed|welcome) (?:again|now|after all)\b/i;
const LATER = "(?:any ?more|any longer|from now on|now|again)";
/** What was asked for is not needed: `No need to sign your answers any more`. */
export const RELEASES = new RegExp(
  [
    "\\byou (?:no longer|don't|do not|needn't|need not) (?:need|have) to\\b|\\byou (?:no longer|needn't|need not)\\b",
    `\\byou (?:don't|do not) .{1,100}\\b${LATER}\\b`,
    `\\b(?:i|we) (?:no longer (?:need|want|require|care|insist)|(?:don't|do not) (?:need|want|require|care|insist)\\b.{1,100}\\b${LATER})\\b`,
    "\\bno need (?:to|for)\\b|\\b(?:no longer|not) (?:needed|necessary|required|important|wanted|valid|appl(?:y|ies)|holds?|matters?|counts?)\\b",
    `\\b(?:isn't|is not|aren't|are not|doesn't|does not|don't|do not) (?:need(?:ed)?|necessary|required|important|apply|matter|count|hold)\\b.{0,60}\\b${LATER}\\b`,
    "\\byou (?:can|may) (?:now )?(?:stop|quit) \\w+ing\\b",
  ].join("|"),
  "i",
);
/** An order that ends a habit. */
export const STOPS = new RegExp(
  `^(?:(?:ok|okay|please|and|so|also|now|actually|well|hey|oh),? )*(?:(?:stop|quit) (?!being)\\w+ing|(?:don't|do not) .{1,100}\\b${LATER})\\b`,
  "i",
);
/** A rule that forbids. */
export const FORBIDS = /\b(?:never|don't|do not|stop|quit|avoid|without|no)\b/i;
/** Words that replace a rule by another. */
export const REPLACES =
  /\b(?:instead|rather than|no longer|any ?more|from now on|from here on|going forward|actually|change of plans?|chang(?:e|ed)|switch(?:ed|ing)?|correction|scratch that|on second thought|update|now)\b/i;
/** Words of a replacement for the rule that it ends. */
export const REPLACED_THING =
  /\b(?:instead of|rather than|in place of|no longer|not) ([^,.;]{2,60})|\bfrom ([\p{L}\w -]{2,30}) to\b/iu;

/** Letters on both sides would make another word; `\b` knows those of English only. */
function wordPattern(source: string): RegExp {
  return new RegExp(`(?<![\\p{L}\\p{M}])(?:${source})(?![\\p{L}\\p{M}])`, "iu");
}

function joinedScript(source: string): RegExp {
  return new RegExp(source, "u");
}

/** Other languages. A rule has words for all later times, a revocation words for its end. */
export const LANGUAGES: readonly RuleWords[] = [
  {
    // German
    rule: wordPattern(
      "ab (?:jetzt|sofort|heute|nun)|von (?:jetzt|nun) an|künftig|in zukunft|(?:immer|jedes mal),? wenn ich|wenn ich (?:dich |nach |über |um ).{2,60}\\b(?:immer|stets|nie|bitte)|wenn ich .{1,60}(?:frage|schicke|sende|schreibe|zeige|einfüge|erwähne|teile|sage|nenne), (?!ich|dann ich|habe|bin|werde)\\p{L}+|" +
        "bitte (?:\\p{L}+ ){0,3}(?:immer|stets|nie|niemals|nur noch|nicht mehr)|(?:antworte|schreib|schreibe|nenne|nenn|verwende|nutze|benutze|gib|mach|sag|erwähne|zeig|halte|lass|beginne|beende)(?: \\p{L}+){0,6} (?:immer|stets|nie|niemals|nur noch|nicht mehr)|" +
        "hör(?:e)? (?:bitte )?(?:auf|damit auf)|(?<=^|[,;:] ?)(?:bitte )?(?:nie|niemals|immer|stets) (?:\\p{L}+ ){0,4}\\p{L}+n[.!]?$",
    ),
    revokes: wordPattern(
      "(?:vergiss|ignoriere|streich|streiche|lass) .{0,40}(?:regel|anweisung|vorgabe|bitte|was ich .{0,20}(?:gesagt|gebeten))|(?:du|sie) (?:darfst|kannst|dürfen|können) .{0,80}wieder|" +
        "(?:nicht mehr|nicht länger) (?:nötig|notwendig|erforderlich|gebraucht)|(?:brauchst|musst|müssen|brauchen) .{0,80}(?:nicht|keine?n?) (?:\\p{L}+ ){0,4}?mehr|(?:brauchst|musst) .{0,80}mehr|gilt nicht mehr|ist wieder (?:erlaubt|in ordnung|ok|okay)",
    ),
  },
  {
    // French
    rule: wordPattern(
      "désormais|dorénavant|à partir de maintenant|à l'avenir|à chaque fois que je|chaque fois que je|quand je (?:te |vous |parle|demande|pose|dis|mentionne).{0,80}(?:toujours|jamais|,)|" +
        "(?:réponds|répondez|écris|écrivez|utilise|utilisez|donne|donnez|mets|mettez|cite|citez|parle|parlez|commence|commencez|termine|terminez|indique|indiquez|ajoute|ajoutez|mentionne|mentionnez|garde|gardez|fais|faites)(?:-\\p{L}+)? (?:\\p{L}+ )?(?:toujours|jamais)|" +
        "(?<=^|[,;:] ?)(?:s'il (?:te|vous) plaît,? )?(?:ne (?:\\p{L}+ )?\\p{L}+ (?:jamais|plus)|n'\\p{L}+ (?:jamais|plus))|(?:arrête|arrêtez|cesse|cessez) (?:de |d')",
    ),
    revokes: wordPattern(
      "(?:oublie|oubliez|ignore|ignorez|annule|annulez|laisse|laissez) .{0,40}(?:règle|consigne|instruction|demande|ce que j'ai (?:dit|demandé))|(?:tu peux|vous pouvez) .{0,80}(?:à nouveau|de nouveau)|(?:tu peux|vous pouvez) (?:à nouveau|de nouveau)|" +
        "plus besoin (?:de|d')|n'est plus (?:nécessaire|utile|valable|la peine)|(?:tu n'as|vous n'avez) plus (?:à|besoin)|ne s'applique plus",
    ),
  },
  {
    // Spanish
    rule: wordPattern(
      "a partir de ahora|de ahora en adelante|en adelante|en el futuro|cada vez que (?:te |yo )?(?:pregunte|hable|diga|mencione|pida|escriba)|cuando (?:te |yo )?(?:pregunte|hable|diga|mencione|pida|escriba)|" +
        "(?<=^|[,;:] ?)(?:por favor,? )?(?:siempre|nunca|jamás) \\p{L}+|(?:responde|contesta|escribe|usa|utiliza|da|dame|pon|cita|habla|empieza|termina|indica|añade|menciona|incluye|mantén|haz)(?:\\p{L}+)? (?:\\p{L}+ )?(?:siempre|nunca)|(?:deja|para) de|no (?:vuelvas|vuelva) a|nunca más",
    ),
    revokes: wordPattern(
      "(?:olvida|olvide|ignora|ignore|cancela|anula|quita) .{0,40}(?:regla|norma|instrucción|petición|lo que (?:te )?(?:dije|pedí))|(?:puedes|puede) volver a|(?:puedes|puede) .{0,80}(?:otra vez|de nuevo)|ya no (?:hace falta|es necesario|necesitas|tienes que|quiero|se aplica|vale|necesito)",
    ),
  },
  {
    // Portuguese
    rule: wordPattern(
      "a partir de agora|de agora em diante|daqui (?:em|para) (?:diante|frente)|no futuro|sempre que eu|toda vez que eu|quando eu (?:perguntar|falar|disser|mencionar|pedir|escrever)|(?:responda|responde|escreva|use|dê|cite|fale|comece|termine|inclua|mencione)(?: \\p{L}+)? (?:sempre|nunca)|(?<=^|[,;:] ?)(?:por favor,? )?(?:sempre|nunca) \\p{L}+|pare de|nunca mais",
    ),
    revokes: wordPattern(
      "(?:esqueça|esquece|ignore|cancele) .{0,40}(?:regra|instrução|pedido|o que eu (?:disse|pedi))|(?:pode|podes) voltar a|(?:pode|podes) .{0,80}(?:de novo|novamente|outra vez)|não (?:é mais necessário|precisa mais|precisas mais|vale mais)",
    ),
  },
  {
    // Italian
    rule: wordPattern(
      "d'ora in (?:poi|avanti)|da ora in (?:poi|avanti)|in futuro|ogni volta che (?:ti |io )?|quando (?:ti |io )?(?:chiedo|parlo|dico|menziono|scrivo)|(?:rispondi|scrivi|usa|dammi|metti|cita|parla|inizia|finisci|includi|menziona|tieni)(?: \\p{L}+)? (?:sempre|mai)|(?:non .{1,40} (?:mai|più))|smetti(?:la)? di|(?<=^|[,;:] ?)(?:per favore,? )?sempre \\p{L}+",
    ),
    revokes: wordPattern(
      "(?:dimentica|ignora|annulla|lascia (?:stare|perdere)) .{0,40}(?:regola|istruzione|richiesta|quello che ho (?:detto|chiesto))|puoi .{0,80}(?:di nuovo|ancora)|puoi (?:di nuovo|tornare a)|non (?:è più necessario|serve più|devi più|occorre più|vale più)",
    ),
  },
  {
    // Dutch
    rule: wordPattern(
      "vanaf (?:nu|vandaag)|voortaan|in het vervolg|in de toekomst|(?:elke|iedere) keer (?:dat|als) ik|(?:altijd )?als ik .{2,60}(?:altijd|nooit|graag)|(?:antwoord|schrijf|gebruik|geef|noem|begin|eindig|vermeld|houd) (?:\\p{L}+ ){0,4}(?:altijd|nooit)|(?<=^|[,;:] ?)(?:altijd|nooit) (?:\\p{L}+ ){0,4}\\p{L}+en[.!]?$|(?:stop met|hou op met)",
    ),
    revokes: wordPattern(
      "(?:vergeet|negeer|schrap|laat) .{0,40}(?:regel|instructie|verzoek|wat ik .{0,20}(?:zei|vroeg))|(?:je|u) (?:mag|kunt|kan) .{0,80}weer|(?:hoeft|hoef) .{0,60}niet (?:meer|langer)|niet (?:meer|langer) nodig|geldt niet meer",
    ),
  },
  {
    // Russian and Ukrainian
    rule: wordPattern(
      "отныне|впредь|с (?:этого|сегодняшнего) (?:дня|момента|часа)|теперь (?:всегда|(?:\\p{L}+ )?(?:\\p{L}+(?:й|йте)|(?:пиши|говори|учти|начни|помни)(?:те)?)(?!\\p{L}))|каждый раз,? когда я|всегда,? когда я|когда я (?:спрашиваю|спрошу|говорю|пишу|упоминаю|прошу|присылаю|пришлю|отправляю|вставляю|показываю|задаю)|" +
        "(?:всегда|никогда не|больше не|больше никогда не) \\p{L}+(?:й|йте|ь|ьте|и|ите)|(?:пожалуйста,? )?(?:всегда|никогда)(?: не)? \\p{L}+(?:й|йте|ь|ьте|и|ите)|(?:перестань|перестаньте|прекрати|прекратите)|" +
        "відтепер|надалі|завжди \\p{L}+|ніколи не \\p{L}+|щоразу,? коли я|коли я (?:питаю|запитую|кажу|пишу)|перестань",
    ),
    revokes: wordPattern(
      "(?:забудь|забудьте|отмени|отмените|игнорируй|игнорируйте|снимаю) .{0,40}(?:правил\\p{L}*|указани\\p{L}*|просьб\\p{L}*|что я (?:говорил|сказал|просил)а?)|(?:можешь|можете|можно) .{0,80}(?:снова|опять)|(?:можешь|можете|можно) (?:снова|опять)|(?:снова|опять|знову) (?:можешь|можете|можно|можна)|" +
        "больше не (?:нужно|надо|требуется|обязательно|действует)|(?:можешь|можете) .{0,60}больше не|не (?:нужно|надо) больше|" +
        "забудь .{0,40}правил\\p{L}*|більше не (?:потрібно|треба)|можеш .{0,80}знову|можна знову",
    ),
  },
  {
    // Greek
    rule: wordPattern(
      "από (?:εδώ|τώρα) και (?:πέρα|στο εξής)|από (?:σήμερα|αύριο)(?: και)?|στο εξής|στο μέλλον|κάθε φορά που|όταν (?:σε |σου )?(?:ρωτάω|ρωτώ|μιλάω|λέω|γράφω|στέλνω|ζητάω|ζητώ|δείχνω|αναφέρω)|(?:πάντα|ποτέ) (?:να )?(?:μην )?\\p{L}+|να (?:\\p{L}+ )?(?:πάντα|ποτέ)|μην? .{1,60}(?:ποτέ|πια|ξανά)|σταμάτα",
    ),
    revokes: wordPattern(
      "(?:ξέχασε|ξέχνα|αγνόησε|ακύρωσε) .{0,40}(?:κανόνα|οδηγία|εντολή|αυτό που (?:είπα|ζήτησα))|μπορείς .{0,40}(?:ξανά|πάλι)|(?:ξανά|πάλι) μπορείς|δεν (?:χρειάζεται|είναι ανάγκη|ισχύει) .{0,40}(?:πια|πλέον)|δεν (?:χρειάζεται|ισχύει) (?:πια|πλέον)",
    ),
  },
  {
    // Hindi: words are joined with spaces, signs of vowels are marks
    rule: joinedScript(
      "अब से|आगे से|आज (?:से|के बाद)|भविष्य में|जब भी मैं|हर बार जब|हमेशा .{1,80}(?:दो|देना|करो|करना|लिखो|लिखना|रखो|रखना|बोलो|बताओ|बताना|कीजिए|दीजिए|लिखिए|दें|करें|लिखें|रखें|बताएं)|कभी (?:भी )?.{0,60}(?:मत|न )|कभी (?:भी )?.{0,60}नहीं [\\p{L}\\p{M}]*(?:ना|एं|ें|िए)(?![\\p{L}\\p{M}])|बंद कर(?:ो|ें| दो)",
    ),
    revokes: joinedScript(
      "(?:नियम|निर्देश).{0,20}(?:भूल|हटा|रद्द)|(?:भूल जाओ|भूल जाइए).{0,40}(?:नियम|निर्देश|कहा)|(?:फिर से|दोबारा|वापस).{0,60}(?:सकते|सकती)|अब .{0,80}(?:ज़रूरत नहीं|जरूरत नहीं|आवश्यक नहीं|आवश्यकता नहीं)|लागू नहीं",
    ),
  },
  {
    // Arabic
    rule: joinedScript(
      "من الآن فصاعد|من الآن وصاعد|بعد الآن|من اليوم|في المستقبل|كلما|عندما (?:أسأل|أطلب|أتحدث|أرسل|ألصق|أكتب|أذكر)|دائم(?:ا|ًا|اً)|أبد(?:ا|ًا|اً)|لا ت\\p{L}+ .{0,60}(?:مطلق|مجدد|مرة أخرى)|توقف(?:ي)? عن",
    ),
    asks: joinedScript(
      "من فضلك|رجاء|أرجو|أجب|أجيب|اكتب|استخدم|اذكر|ابدأ|(?:^|[،,.:] ?)لا ت|توقف|أعط|قدم|اجعل|ضع|أضف|نادني|أن ت",
    ),
    revokes: joinedScript(
      "(?:انس|انسَ|تجاهل|ألغ|ألغِ).{0,40}(?:قاعدة|القاعدة|تعليمات|التعليمات|طلب|ما قلت|ما طلبت)|(?:يمكنك|تستطيع|بإمكانك).{0,80}(?:مجدد|مرة أخرى|ثانية)|لم يعد|لا داعي|لا حاجة|لست بحاجة|لا يلزم",
    ),
  },
  {
    // Chinese
    rule: joinedScript(
      "从现在(?:开始|起)|從現在(?:開始|起)|以后|以後|今后|今後(?=[^は、]*[请請])|往后|每次|每当|每當|(?:请|請)?(?:总是|總是|一直|始终|始終|永远|永遠|务必|務必|一律)|(?:绝对不要|絕對不要|永远不要|永遠不要|千万不要|千萬不要|不要再|别再|別再|禁止|不许|不許)|(?:当|當|只要|如果)我(?:问|問|说|說|提|让|讓|要|聊|发|發|贴|貼|给|給|写|寫)|改(?:用|成|为|為)",
    ),
    asks: joinedScript(
      "请|請|不要|别|別|不许|不許|必须|必須|务必|務必|禁止|都要|都用|要先|要用|只用|先给|先給|[，,](?:先|只|请|請|别|別|不要|必须|必須|务必|務必)|叫我|称呼我|稱呼我|给我|給我|告诉我|告訴我|用.{1,12}(?:回答|回复|回覆|写|寫|说|說)|一律",
    ),
    revokes: joinedScript(
      "(?:忘记|忘記|忘掉|忽略|取消|撤销|撤銷|作废|作廢|删除|刪除).{0,30}(?:规则|規則|要求|规定|規定|指示|我.{0,4}(?:说|說|提))|(?:规则|規則|要求|规定|規定).{0,30}(?:作废|作廢|取消|不算|不再|无效|無效)|(?:可以|能).{0,2}(?:再次|重新|继续|繼續|又)|又可以|(?:不用|不必|无需|無需|不需要|没必要|沒必要)(?:再|了)|不用再",
    ),
  },
  {
    // Japanese
    rule: joinedScript(
      "これからは|今後は|今後|以降|毎回|(?:私|僕|俺)が.{1,60}(?:時|とき|たら|場合)|(?:聞い|言っ|貼っ|送っ|頼ん|書い|質問し|話し|見せ)(?:たら|た時|たとき|た場合)|(?:聞く|言う|貼る|送る|頼む|書く|質問する|話す|見せる)(?:時|とき|場合|たび)|必ず|常に|いつも.{1,60}(?:ください|下さい|して|て$|てね)|(?:決して|絶対に?|二度と).{1,60}(?:ないで|な$|な。|ません|ないこと)|(?:もう|これ以上).{1,60}(?:ないで|やめて)|(?:の|ことを?|を)(?:やめて|止めて)",
    ),
    asks: joinedScript(
      "ください|下さい|お願い|ないで|(?:して|答えて|書いて|使って|言って|呼んで|やめて|止めて)(?:ね|よ)?[。!！]?$|こと[。]?$|(?:しろ|せよ|すること)",
    ),
    revokes: joinedScript(
      "(?:ルール|指示|決まり|お願い|約束|話).{0,20}(?:忘れて|無視して|取り消|なし|撤回|もう(?:いい|不要))|(?:忘れて|無視して).{0,20}(?:ルール|指示)|(?:また|再び|もう一度).{1,60}(?:ていい|てもいい|ても構|て大丈夫|てください)|もう.{0,60}(?:なくていい|なくてもいい|必要(?:は|が)?(?:ない|ありません)|不要)|(?:する|の)必要はもう",
    ),
  },
  {
    // Korean
    rule: joinedScript(
      "앞으로|이제부터|지금부터|오늘부터|(?:내가|제가) .{1,60}(?:때|때마다|하면|으면|면)|매번|항상|언제나|절대(?:로)? .{1,60}(?:마|말)|다시는 .{1,60}(?:마|말)|더 이상 .{1,60}(?:마|말)|그만(?:해| |둬)",
    ),
    asks: joinedScript(
      "주세요|주십시오|하세요|해라|부탁|(?:하지|쓰지|말하지|넣지)? ?(?:마|말아|마세요)|해 ?줘|[가-힣]줘|불러",
    ),
    revokes: joinedScript(
      "(?:규칙|지시|요청|부탁|말한 (?:것|거)).{0,20}(?:잊어|무시|취소|철회|없던)|(?:다시) .{1,60}(?:도 돼|도 됩니다|도 괜찮|도 좋)|(?:이제|더 이상|더는) .{1,60}(?:않아도|필요 ?없|안 해도|필요는? ?없)",
    ),
  },
  {
    // Thai
    rule: joinedScript(
      "ตั้งแต่(?:นี้|ตอนนี้|บัดนี้)|ต่อไปนี้|จากนี้(?:ไป)?|ในอนาคต|ทุกครั้งที่|เมื่อ(?:ฉัน|ผม|ดิฉัน|เรา)(?:ถาม|พูด|ขอ|บอก)|(?:เสมอ|ตลอดไป|ทุกครั้ง)|(?:อย่า|ห้าม).{1,80}(?:อีก|เด็ดขาด|เลย)|หยุด",
    ),
    asks: joinedScript("ให้|โปรด|กรุณา|อย่า|ห้าม|ช่วย|ตอบ|หยุด|ใช้|เรียก|แสดง|ระบุ|บอก|เขียน"),
    revokes: joinedScript(
      "(?:ลืม|ยกเลิก|ไม่ต้องสนใจ).{0,30}(?:กฎ|คำสั่ง|คำขอ|ที่(?:ฉัน|ผม)(?:บอก|ขอ))|(?:สามารถ|ได้).{0,60}อีกครั้ง|.{1,60}ได้อีก(?:แล้ว|ครั้ง)|ไม่(?:ต้อง|จำเป็นต้อง).{1,60}(?:อีก|แล้ว)",
    ),
  },
];
