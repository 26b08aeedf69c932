/**
 * Forms in which people set a rule for later answers, and in which they take it back or replace it. `{topic}` and `{detail}` are filled in.
 * Forms of the first list were looked at while the detector was written, those of the second only to report.
 */
export interface RuleForm {
  rule: string;
  /** Takes the rule back. */
  back?: string;
  /** A rule in its place. */
  instead?: string;
}

export const TUNING: readonly RuleForm[] = [
  {
    rule: "Always mention {detail} when I ask about {topic}.",
    back: "You no longer need to mention {detail} when I ask about {topic}.",
    instead: "When I ask about {topic}, list the opening hours instead.",
  },
  {
    rule: "When I ask about {topic}, always begin with {detail}.",
    back: "Forget the rule about {topic}.",
  },
  {
    rule: "From now on, answer questions about {topic} with {detail} first.",
    back: "Drop the rule about {topic}, please.",
  },
  {
    rule: "Never recommend {topic} to me, please.",
    back: "You can recommend {topic} again.",
  },
  {
    rule: "Please stop bringing up {topic} in your answers.",
    back: "It's fine to bring up {topic} again.",
  },
  {
    rule: "In future, whenever I mention {topic}, remind me of {detail}.",
    back: "There is no need to remind me of {detail} any more when I mention {topic}.",
  },
  {
    rule: "Could you always add {detail} when I ask for {topic}?",
    back: "I don't need {detail} for {topic} any more.",
  },
  {
    rule: "I want you to name {detail} every time I ask about {topic}.",
    back: "I changed my mind about {topic}: ignore what I said about {detail}.",
  },
  {
    rule: "Ab jetzt nenne bei Fragen zu {topic} immer zuerst {detail}.",
    back: "Vergiss die Regel zu {topic}.",
  },
  {
    rule: "À partir de maintenant, cite toujours {detail} quand je parle de {topic}.",
    back: "Oublie la règle sur {topic}.",
  },
  {
    rule: "A partir de ahora, menciona siempre {detail} cuando pregunte por {topic}.",
    back: "Ya no hace falta mencionar {detail} cuando pregunte por {topic}.",
  },
  { rule: "从现在开始,我问到{topic}时请先说{detail}。", back: "关于{topic}的规则取消。" },
  {
    rule: "これからは、{topic}について聞いたら、必ず{detail}から答えてください。",
    back: "{topic}のルールは忘れてください。",
  },
  {
    rule: "Отныне, когда я спрашиваю про {topic}, всегда называй {detail}.",
    back: "Забудь правило про {topic}.",
  },
];

export const REPORTING: readonly RuleForm[] = [
  {
    rule: "If I ask about {topic}, please always include {detail}.",
    back: "You don't have to include {detail} when I ask about {topic} any more.",
    instead: "If I ask about {topic}, give me the phone number instead.",
  },
  {
    rule: "Going forward, put {detail} at the top whenever we talk about {topic}.",
    back: "Scrap the instruction about {topic}.",
  },
  {
    rule: "Don't ever suggest {topic} again.",
    back: "You may suggest {topic} again.",
  },
  {
    rule: "Every time I ask about {topic}, tell me about {detail} as well.",
    back: "Never mind the rule about {topic}.",
  },
  {
    rule: "Please never use the word {detail} in your answers about {topic}.",
    back: "It's okay to use the word {detail} again for {topic}.",
  },
  {
    rule: "As a general rule, avoid {topic} in your replies.",
    back: "{topic} is fine again.",
  },
  {
    rule: "Remember to always quote {detail} when I ask you about {topic}.",
    back: "Quoting {detail} for {topic} is no longer necessary.",
  },
  {
    rule: "I'd like you to mention {detail} whenever I bring up {topic}.",
    back: "Please stop mentioning {detail} when I bring up {topic}.",
  },
  {
    rule: "Wenn ich nach {topic} frage, nenne bitte immer {detail}.",
    back: "Du brauchst {detail} bei {topic} nicht mehr zu nennen.",
  },
  {
    rule: "Désormais, quand je te pose une question sur {topic}, commence par {detail}.",
    back: "Tu n'as plus besoin de commencer par {detail} pour {topic}.",
  },
  {
    rule: "Cada vez que hable de {topic}, recuérdame {detail}.",
    back: "Olvida la regla sobre {topic}.",
  },
  { rule: "以后我问{topic}的时候,请务必提到{detail}。", back: "问{topic}时不用再提{detail}了。" },
  {
    rule: "今後、{topic}の話をするときは、常に{detail}にも触れてください。",
    back: "{topic}のとき、もう{detail}に触れなくていいです。",
  },
  {
    rule: "앞으로 {topic}에 대해 물으면 항상 {detail}부터 말해 주세요.",
    back: "{topic}에 대한 규칙은 이제 잊어 주세요.",
  },
  {
    rule: "Каждый раз, когда я упоминаю {topic}, пожалуйста, напоминай про {detail}.",
    back: "Больше не нужно напоминать про {detail} при упоминании {topic}.",
  },
  {
    rule: "Από εδώ και πέρα, όταν ρωτάω για {topic}, να λες πάντα {detail}.",
    back: "Ξέχασε τον κανόνα για {topic}.",
  },
  { rule: "अब से जब भी मैं {topic} के बारे में पूछूँ, हमेशा {detail} पहले बताओ।", back: "{topic} वाला नियम भूल जाओ।" },
  { rule: "من الآن فصاعدا، عندما أسأل عن {topic}، اذكر {detail} دائما.", back: "انس القاعدة حول {topic}." },
  { rule: "ตั้งแต่นี้ไป เมื่อฉันถามเรื่อง {topic} ให้ตอบ {detail} ก่อนเสมอ", back: "ยกเลิกกฎเรื่อง {topic}" },
];
