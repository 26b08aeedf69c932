/** Words with which people command, forbid and decide, and those that only look like it. English. */

/** Verbs that begin a command. */
const VERBS =
  "add allow answer ask avoid begin build bump cache call catch change check choose clean commit compare consider continue convert " +
  "copy count create delete deploy describe design document drop edit encode ensure escape exclude explain extract fetch find fix " +
  "follow format generate get give handle ignore implement import include install keep leave limit lint list log look make mark " +
  "mention merge migrate modify move name note open parse pin plan port prefer prepare preserve print publish pull push put read " +
  "rebase refactor refer release remember remind remove rename repeat replace reply report respect respond restart restrict retry " +
  "return revert review rewrite round run save say send set show skip sort speak split squash start stay stick stop store suggest " +
  "summarize support switch talk test throw touch translate treat try turn undo update upgrade use validate verify wait work write";
const VERB = `(?:tell|${VERBS.split(" ").join("|")})`;
/** Words before a command in its clause. */
const LEAD =
  "(?:(?:and|but|so|also|then|ok|okay|no|yes|well|please|just|again|now|instead|otherwise|first|next|finally|from now on|in future)[,!]? )*";
/** What follows `never`, `always` and `only` where a person reports something, and leaves out the subject. */
const PAST =
  "been|had|has|was|were|is|are|did|does|got|gets|saw|seen|knew|thought|heard|met|slept|felt|went|gone|came|made|took|said|ate|" +
  "(?:lov|lik|want|tri|hop|dream|enjoy|hat|wonder|happen|imagin|notic|realiz|realis|liv)ed|" +
  "(?:kidd|jok|teas|try|think|wonder|look)ing";
const SMALL =
  "again$|because|i|you mind|give up|believe in|time will|stop (?:dream|believ|smil|learn)ing|mind|if you (?:want|like|insist|promise)|(?:\\w+ ){0,3}(?:left|ago|away)$|" +
  "(?:so )?(?:happy|glad|nice|fun|here|there for|grateful|proud|up for|amazing|lovely|(?:good|great) (?:to|for|when|fun))|" +
  "(?:my|your|an?|the) (?:\\w+ )?(?:favou?rite|pleasure|joy|treat|delight|adventure|surprise|blast|dull|good (?:time|idea|sign|thing)|challenge|bit|little|few|chance|matter of|question|moment|struggle|relief|win|plus)";
const UNNAMED_REPORT = `(?:${PAST}|${SMALL})(?:\\b|$)(?![-/.]\\w)`;
/** The same after a subject: there each past and each form with -ing is a report. */
const REPORT = `(?:${PAST}|${SMALL}|an?|found|knew|again|if|when|he|she|it|they|you|my|\\w{2,}ed|\\w{3,}ing)(?:\\b|$)(?![-/.]\\w)`;
/** What follows `don't` where it is about a feeling, comforts or is a question. */
const UNNAMED_STATE =
  "(?:know|think (?:so|i|it|that|he|she|they|we)|care|mind|worry|(?:like|love|understand|believe|recall)|feel (?!free)|see why|" +
  "give up|hesitate|let it get|forget to have fun|you (?:love|just|think|worry|know|hate)|we|they|i|panic|sweat|get me|get it|mention it|" +
  "be (?:silly|sad|shy|afraid|sorry|like that|too hard|so))\\b";
/** The same after a subject. */
const STATE_WORDS =
  "(?:know|think|care|mind|worry|bother|understand|like|love|want to|feel|have|believe|see|need|even|get it)\\b";
const FORBID = "(?:do not|don't)";
const EVER = "(?:never|always|only)";
const ORDER = `(?:${FORBID} (?!${UNNAMED_STATE})|${EVER} (?:ever )?(?!${UNNAMED_REPORT}))`;
/** What `we` never do is a rule, as long as it is no report. */
const OUR_ORDER = `(?:${FORBID} (?!${STATE_WORDS})|${EVER} (?:ever )?(?!${REPORT}))`;
/** Feelings, and words for people who have them: a sentence with them sets no rule about things. */
const PERSONAL =
  "(?:i|i'm|i've|me|my|us|him|her|he|she|love|loves|like|likes|enjoy|enjoys|hate|hates|feel|feels|want|wants|fascinate|fascinates)\\b";

const PARTICIPLE = "(?:been|had|felt|done|told|made|\\w+(?:ed|en|wn))\\b";
/** What people recommend to each other, in contrast to a task that starts with the same verb. */
const TREAT =
  "know (?:me|him|her|them|how|what|by now)\\b|(?:see|try|watch|visit) (?:it|him|her|his|them|this|that|my|our|us|me|some|one)\\b|" +
  "come (?:over|by|along|and|to|with|visit|see|here|too|sometime)\\b|(?:see|try|watch|visit|come|know)(?=[.!]|$|[^.!?]{0,80}!)";

/** Encouragement and guesses of small talk, which have a word of a constraint and set none. */
export const SMALL_TALK = new RegExp(
  [
    "\\bkeep(?:s|ing)? (?:it up|up\\b|going|on\\b|in touch|(?:that )?in mind|(?:me|us|you|them|him|her|my|your|our) (?:going|posted|\\w+ed\\b|\\w+ing\\b)|\\w+ing\\b)",
    `\\bmust(?: have|'ve) ${PARTICIPLE}|\\bmust be (?:so|such|really|fun|great|nice|hard|tough|amazing|exciting)\\b`,
    `\\byou (?:must|should|have to|need to) (?:(?:have|'ve) ${PARTICIPLE}|${TREAT}|be (?:tired|exhausted|hungry|happy|sad|proud|glad|excited|busy|right|wrong|kidding|joking|mad|crazy|new)\\b)`,
  ].join("|"),
  "gi",
);
/** A command at the beginning of a clause. */
export const COMMAND = new RegExp(
  `^${LEAD}(?:${ORDER}|please (?!${EVER}|${FORBID})|make sure|ensure|avoid|keep|prefer|stop|use|you (?:must|should|have to|need to)\\b)`,
  "i",
);
/** The beginning of a clause that asks for something to be done. */
export const TASK = new RegExp(`^${LEAD}${VERB}\\b(?!')`, "i");
/** Words that limit how something is done, in a sentence that asks for it. */
export const LIMIT =
  /\b(?:always|never|only|without|instead|rather than|at (?:most|least)|exactly|no longer|limit|keep)\b/i;
/** With these a person quotes an earlier rule. */
const SPEAK = "(?:told|tell|asked|ask|said|say|meant|mean)";
/** What a person has to do in the work; all else that `I`, `he` and `she` have to do is their life. */
const OF_THE_WORK =
  "(?:be able|approve|confirm|deploy|ensure|keep (?!my|her|his)|maintain|merge|migrate|preserve|review|run (?:it|the|on|without|offline)|" +
  "see (?:all|each|every)|sign|support (?!my|her|his)|use (?!my|her|his|the (?:bathroom|toilet|train|bus|car)))\\b";
/** What `we` do and the things have to be, and what a person wants of the work. As one pattern they take twice as long to compile. */
export const NORMS: readonly RegExp[] = [
  `\\bwe (?:${OUR_ORDER}|no longer\\b)`,
  `^${LEAD}you ${EVER} (?:ever )?${VERB}\\b(?! (?:me|us|my|it|such|so|good|great|the best)\\b)`,
  "\\byou (?:can|may|could) only (?!imagine|guess|hope|try|wish|do so)\\w",
  // The adverb after its subject: "The config file is never committed."
  `^${LEAD}(?:(?:the|all|our|each|every|any|these|this|no|an?) (?:(?!${PERSONAL}|(?:is|are)\\b)[\\w'./-]+ ){1,4}|(?:(?!${PERSONAL})[\\w'./-]+ ){0,3}(?!(?:he|she|it|that|there|this|who)'s)[\\w'./-]+s )` +
    `(?:(?:(?<!\\b(?:is|was|has|does) )(?:is|are|can|may|will) )(?:always|never) |(?<!\\b(?:is|was|has|does|it's|he's|she's|that's) )(?:always|never) (?!${REPORT}))(?!.*\\b${PERSONAL})\\S`,
  `^(?:for|in|on|at|when|if|while|with|after|before)\\b(?:(?!\\b(?:i|he|she|it|they)\\b).){0,80} (?:${FORBID}|${EVER}) ${VERB}\\b`,
  "(?<!\\b(?:i|i'll|i'd|he|she|who)(?: (?:really|also|still|just|probably|definitely|always|only))? )" +
    `\\b(?:must(?: not|n't)?|should(?: not|n't)?|has to|have to|needs? to)\\b(?!(?: not)? (?:have|'ve) ${PARTICIPLE})(?!-)`,
  `\\b(?:i|we|he|she) (?:must|should|needs? to|ha(?:ve|s) to) ${OF_THE_WORK}`,
  "\\bi must(?: not|n't) (?!forget|complain|grumble|cry|give up|eat|be late|miss|lose)\\w",
  "\\b(?:i|we) (?:need|want) (?:only|exactly|at (?:most|least)) (?!.{0,30}\\b(?:hours?|minutes?|sleep|coffees?|break|beer)\\b)\\w",
  "\\b(?:i|we) (?:don't|do not|never) want (?!to\\b|(?:him|her|them|it|that|this) to\\b)\\w",
  `\\bi(?:'ve| have| already)* ${SPEAK}(?: you)?(?: that| to)? (?:${FORBID}|${EVER}|not)(?: to)? ${VERB}\\b`,
  "\\b(?:requires?|is required|are required|not allowed|forbidden|deadline)\\b",
  "\\blimit (?:is|of|for)\\b",
  "(?:\\b(?:is|are|very|most)|'s) important\\b|^important\\b|^(?:at (?:most|least)|exactly) (?!(?:\\w+ )?(?:i|we|you|he|she|it|they)\\b)\\w+ [\\w%]",
  "\\bno longer (?:use|need|want|allow|support)|\\bno longer (?:allowed|needed|used|supported)\\b",
  "^(?:[\\w'-]+ ){1,5}only$",
  "\\bwe avoid \\w|\\b(?:is|are) to be \\w+ (?:without|only)\\b|\\bi(?:'d| would) like (?:only|exactly|at (?:most|least)) \\w",
  "\\b(?:i|we) (?:need|want) (?:it|this|that|the \\w+) to \\w+ (?:without|only)\\b",
].map((pattern) => new RegExp(pattern, "i"));
const NOTHING_WORDS = "nothing|nobody";
/** Rules that only the whole sentence shows: `Without my OK, nothing gets deployed`, `Imports go at the top, always`. */
export const WHOLE_RULE = new RegExp(
  [
    "^no (?!day|one\\b|life|night)\\w+ .{0,80}\\bwithout\\b",
    `^without (?!you|him|her|them|me\\b|us\\b)[^,]{1,80}, (?:${NOTHING_WORDS}|no one|no|never|don't|do not)\\b`,
    `^(?!.{0,200}\\b(?:you|thanks|${PERSONAL})).{1,200}\\w, (?:always|never)[.!]*$`,
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
export const ASKED_HABIT = new RegExp(
  `\\b(?:can|could|would|will) you (?:please )?(?:always|never|only|make sure|ensure|avoid|prefer|not ${VERB}|keep(?! (?:going|up|on|in touch|an? secret|me|us)\\b))\\b`,
  "i",
);

/** Things and people of everyday life, which follow the words of a choice. */
const EVERYDAY =
  "(?:my|your|me|him|her|them|you|us|the (?:train|bus|tram|bike|car|subway|stairs|lift|elevator|bathroom|toilet|kids|children|dog|day|" +
  "weekend|week|morning|afternoon|evening|time|chance|opportunity|flow|family)|an? (?:friend|look|walk|nap|break|rest|bath|shower|trip|ride|picture|photo))\\b";
/** What people take where they take a choice. */
const TAKEN = "(?:the|this|that|both|option|number)\\b";
const IN_TOUCH =
  "(?:in touch|(?:that |this )?in mind|at it|\\w+ing|going|it up|up|on|our|fingers|each other|calm)\\b";
const AWAY = "(?:up|by|off|in|out|down|around|together)\\b";

/** A person's choice, made. */
export const CHOICE = new RegExp(
  [
    "\\b(?:we|i)(?:'ve| have)?(?: both| all| now| just| finally| also)* (?:decided (?:to|on|for|against|not)|" +
      "decided that (?!(?:i|we)(?:'m|'re)? (?:am|are|love|like|hate|enjoy|feel|need|want)\\b)|" +
      `(?:chose|chosen|picked) (?!${EVERYDAY}|${AWAY}|\\w*berries|apples|flowers|grapes|mushrooms)|settled (?:on|for)|agreed (?:to|on|that)|(?:will |)opt(?:ed)? for|switched (?:to|from))`,
    `\\bwe (?:went|go) with (?!${EVERYDAY})|\\bi went with (?!${EVERYDAY})(?:the|option|plan|number|version)\\b`,
    `\\b(?:we|i)(?:'d| would) (?:go with|pick|choose) (?!${EVERYDAY})`,
    `\\b(?:we|i)(?:'re|'m| are| am) (?:going with (?!${EVERYDAY})|going to (?:(?:use|go with|stick|switch|take (?=${TAKEN}))(?! ?(?:${EVERYDAY}|${AWAY}))|keep (?!${IN_TOUCH}|${EVERYDAY}))|switching to|sticking (?:with|to))`,
    `\\b(?:we|i)(?:'ll| will) (?:use|go with|go for|stick (?:to|with)|switch to|(?:take|keep|pick|choose) (?=${TAKEN}))(?! ?(?:${EVERYDAY}|that (?:as|in mind)))`,
    `^${LEAD}let(?:'s| us) (?:not )?(?:(?:go with|go for|use|take) (?!${EVERYDAY}|care|it|turns|an?\\b|some)|keep (?!${IN_TOUCH}|${EVERYDAY})|(?:stick|switch|choose|pick|settle|drop|skip|stay with)\\b(?! ${AWAY}))`,
    `^${LEAD}(?:go|stick) with (?!${EVERYDAY})`,
    `^${LEAD}(?:the )?(?:option|variant|plan|number|choice|version) (?:[a-z]|\\d{1,2}|one|two|three|four)(?:,? please)?[.!]*$`,
    `^(?!(?:what|how|as|sad|whatever|here|that's)\\b)(?:[\\w.+#-]+ ){1,4}it is[.!]*$`,
    "\\b(?:it (?:was|is|has been) decided|(?:the|my|our|final) decision(?: is| was)|(?:it's|it is|that's|that is) (?:settled|decided|final))",
  ].join("|"),
  "i",
);
/** What comes before a choice that is not made yet. */
export const UNDECIDED =
  /\b(?:if|whether|unless|until|once|before|when|maybe|perhaps|not sure|wonder(?:ing)?|should|could|might)\b/i;
