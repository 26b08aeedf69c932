/** Words with which people command, forbid and decide, and those that only look like it. English. */

/** Verbs that begin a command. */
const VERBS =
  "add allow answer ask avoid begin build call change check choose clean commit compare consider continue convert copy count create " +
  "delete deploy describe design document drop edit ensure exclude explain extract find fix follow format generate get give handle " +
  "ignore implement include install keep leave limit lint list log look make mark mention merge migrate modify move name note open " +
  "plan port prefer prepare preserve print pull push put read refactor refer remember remind remove rename repeat replace reply " +
  "report respect respond restart restrict return review rewrite round run save say send set show skip sort speak split start stay " +
  "stick stop store suggest summarize support switch talk test touch translate treat try turn update upgrade use verify wait " +
  "work write";
const VERB = `(?:tell|${VERBS.split(" ").join("|")})`;
/** Words before a command in its clause. */
const LEAD =
  "(?:(?:and|but|so|also|then|ok|okay|no|yes|well|please|just|again|now|instead|otherwise|first|next|finally|from now on|in future)[,!]? )*";
/** What follows `never`, `always` and `only` where they report something. */
const REPORT =
  "(?:an?|been|had|has|was|were|is|are|did|does|got|gets|saw|seen|knew|thought|heard|met|slept|felt|went|gone|came|found|made|took|" +
  "said|ate|again|if|because|when|i|he|she|it|they|you|my|mind|(?:\\w+ )?left|\\w{2,}ed|\\w{3,}ing)\\b(?![-/.]\\w)";
/** What follows `don't` where it reports something, comforts or is a question. */
const STATE =
  "(?:know|think|care|mind|worry|bother|understand|like|love|want|feel|have|believe|see why|need|even|you|we|they|i|panic|sweat|" +
  "get me|get it|mention it|be (?:silly|sad|shy|afraid|sorry|like that|too hard|so))\\b";
const FORBID = "(?:do not|don't)";
const EVER = "(?:never|always|only)";
const ORDER = `(?:${FORBID} (?!${STATE})|${EVER} (?:ever )?(?!${REPORT}))`;

const PARTICIPLE = "(?:been|had|felt|done|told|made|\\w+(?:ed|en|wn))\\b";

/** Encouragement and guesses of small talk, which have a word of a constraint and set none. */
export const SMALL_TALK = new RegExp(
  [
    "\\bkeep(?:s|ing)? (?:it up|up\\b|going|on\\b|in touch|(?:that )?in mind|(?:me|us|you|them|him|her|my|your|our) (?:going|posted|\\w+ed\\b|\\w+ing\\b)|\\w+ing\\b)",
    `\\bmust(?: have|'ve) ${PARTICIPLE}|\\bmust be (?:so|such|really|fun|great|nice|hard|tough|amazing|exciting)\\b`,
    `\\byou (?:must|should|have to|need to) (?:(?:have|'ve) ${PARTICIPLE}|know|see|try|come|visit|watch|be (?:tired|exhausted|hungry|happy|sad|proud|glad|excited|busy|right|wrong|kidding|joking|mad|crazy|new)\\b)`,
  ].join("|"),
  "gi",
);
/** A command at the beginning of a clause. */
export const COMMAND = new RegExp(
  `^${LEAD}(?:${ORDER}|please (?!${EVER}|${FORBID})|make sure|ensure|avoid|keep|stop|use|you (?:must|should|have to|need to)\\b)`,
  "i",
);
/** The beginning of a clause that asks for something to be done. */
export const TASK = new RegExp(`^${LEAD}${VERB}\\b(?!')`, "i");
/** Words that limit how something is done, in a sentence that asks for it. */
export const LIMIT =
  /\b(?:always|never|only|without|instead|rather than|at (?:most|least)|exactly|no longer|limit|keep)\b/i;
/** What `we` do and the things have to be. Nothing that `I`, `he` and `she` have to do. */
export const NORM = new RegExp(
  [
    `\\bwe (?:${ORDER}|no longer\\b)`,
    `^(?:for|in|on|at|when|if|while|with|after|before)\\b(?:(?!\\b(?:i|he|she|it|they)\\b).){0,80} (?:${FORBID}|${EVER}) ${VERB}\\b`,
    "(?<!\\b(?:i|i'll|i'd|he|she|who)(?: (?:really|also|still|just|probably|definitely|always|only))? )" +
      `\\b(?:must(?: not|n't)?|should(?: not|n't)?|has to|have to|needs? to)\\b(?!(?: not)? (?:have|'ve) ${PARTICIPLE})(?!-)`,
    "\\b(?:i|we) (?:must|need to|have to) be able\\b",
    "\\b(?:requires?|is required|are required|not allowed|forbidden|deadline)\\b",
    "\\blimit (?:is|of|for)\\b",
    "(?:\\b(?:is|are|very|most)|'s) important\\b|^important\\b|^(?:at (?:most|least)|exactly) (?!\\w+ i\\b)\\w+ \\w",
    "\\bno longer (?:use|need|want|allow|support)|\\bno longer (?:allowed|needed|used|supported)\\b",
    "^(?:[\\w'-]+ ){1,5}only$",
  ].join("|"),
  "i",
);
/** `instead` and its like replace what was there before, where it is no report about a person. */
export const REPLACED =
  /^(?!.*\b(?:i|he|she|they|it|was|were|had)\b(?!'d prefer)).*\b(?:instead|rather than)\b/i;
/** What a person asks of an agent, wherever in the sentence. */
export const ASKED_OF_AGENT =
  /\b(?:please|from now on|call me|remember (?:that|to)|you (?:must|should|have to|need to|may not|can(?:no|')t)|(?:i|we)(?:'d| would)? (?:strongly )?prefer|i(?:'d| would)? (?:need|want|like|expect) you|i (?:don't|do not|never) want (?:you|any|to see)|i (?:only|always) want (?!to\b)|(?:answers?|repl(?:y|ies)|responses?|outputs?|texts?|summar(?:y|ies)) .{0,60}\b(?:must|ha(?:s|ve) to|should|only|at most))\b/i;
/** A question that asks for a habit. */
export const ASKED_HABIT = /\b(?:can|could|would|will) you (?:please )?(?:always|never|only)\b/i;

/** A person's choice, made. */
export const CHOICE = new RegExp(
  [
    "\\b(?:we|i)(?:'ve| have)?(?: both| all| now| just| finally| also)* (?:decided (?:to|on|for|against|that|not)|chose|chosen|picked|settled (?:on|for)|agreed (?:to|on|that)|(?:will |)opt(?:ed)? for|switched (?:to|from))\\b",
    "\\b(?:we|i)(?:'re|'m| are| am) (?:going with|going to (?:use|go with|keep|stick|switch|take)|switching to|sticking (?:with|to))\\b",
    "\\b(?:we|i)(?:'ll| will) (?:use|go with|go for|stick (?:to|with)|switch to|(?:take|keep|pick|choose) (?:the|this|that|both|option|number))\\b",
    `^${LEAD}let(?:'s| us) (?:not )?(?:go with|go for|use|keep|take|stick|switch|choose|pick|settle|drop|skip|stay with)\\b`,
    `^${LEAD}(?:go|stick) with\\b`,
    "\\b(?:it (?:was|is|has been) decided|(?:the|my|our|final) decision(?: is| was)|(?:it's|it is|that's|that is) (?:settled|decided|final))",
  ].join("|"),
  "i",
);
/** What comes before a choice that is not made yet. */
export const UNDECIDED =
  /\b(?:if|whether|unless|until|once|before|when|maybe|perhaps|not sure|wonder(?:ing)?|should|could|might)\b/i;
