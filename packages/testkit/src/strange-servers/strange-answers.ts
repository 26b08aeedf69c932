/** All strange answers, of our own making: kinds times protocols times variants. */
import { bodyErrors, httpErrors, streamErrors } from "./kinds/errors.ts";
import { argumentAnswers, nameAnswers, pairAnswers, usageAnswers } from "./kinds/shared-kinds.ts";
import { messagesLostAnswers } from "./kinds/messages-lost.ts";
import { messagesOddAnswers } from "./kinds/messages-odd.ts";
import { responsesLostAnswers } from "./kinds/responses-lost.ts";
import { responsesOddAnswers } from "./kinds/responses-odd.ts";
import { completionsCallsAnswers } from "./kinds/completions-calls.ts";
import { completionsOddAnswers } from "./kinds/completions-odd.ts";
import { googleOddAnswers } from "./kinds/google-odd.ts";
import { bodyAnswers, transportAnswers } from "./kinds/transport.ts";
import { unknownAnswers } from "./kinds/unknown-parts.ts";
import { STRANGE_PROTOCOLS, type StrangeAnswer } from "./strange-answer.ts";

const OF_ALL = [
  transportAnswers,
  bodyAnswers,
  unknownAnswers,
  nameAnswers,
  argumentAnswers,
  pairAnswers,
  usageAnswers,
  httpErrors,
  bodyErrors,
  streamErrors,
];

let made: readonly StrangeAnswer[] | undefined;

/** Made at the first use: a program that loads the testkit for another suite does not pay for them. */
export function allStrangeAnswers(): readonly StrangeAnswer[] {
  made ??= [
    ...STRANGE_PROTOCOLS.flatMap((protocol) => OF_ALL.flatMap((kind) => kind(protocol))),
    ...messagesLostAnswers(),
    ...messagesOddAnswers(),
    ...responsesLostAnswers(),
    ...responsesOddAnswers(),
    ...completionsCallsAnswers(),
    ...completionsOddAnswers(),
    ...googleOddAnswers(),
  ];
  return made;
}
