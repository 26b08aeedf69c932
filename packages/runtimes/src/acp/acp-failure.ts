/** Maps an agent's error responses to our errors. */
import { PagurusError, type ErrorCode } from "@pagurus/contract/errors";
import type { AgentProcess, RequestRefused } from "./acp-process.ts";
import { recordOf, stringOf } from "@pagurus/core/data/record-fields";
import { shortReason } from "../thread/thread-harness.ts";

/** Patterns over messages: ACP has no codes for failures of the model's request, so agents pass on their provider's message. */
const BY_WORDS: readonly (readonly [RegExp, ErrorCode])[] = [
  [
    /prompt is too long|context (?:window|length)|context_length_exceeded|too many tokens/i,
    "context_overflow",
  ],
  [/\b(?:401|403)\b|unauthori[sz]ed|authentication|invalid api key|not logged in|log ?in\b/i, "model_auth"],
  [/\b429\b|rate.?limit|usage limit|quota/i, "model_rate_limited"],
  [
    /\b(?:500|502|503|504|529)\b|overloaded|unavailable|ECONN|cannot be reached|connection (?:error|refused)|error sending request|high demand/i,
    "model_unavailable",
  ],
  [/stream (?:disconnected|closed)|broke off/i, "model_stream_cut"],
  [/model.{0,40}(?:not found|does not exist|unknown)|\b404\b/i, "model_unknown"],
  [/\b400\b|bad request|invalid[_ ]?request/i, "model_bad_request"],
];

const ADVICE: Partial<Record<ErrorCode, string>> = {
  model_auth:
    "check the key of its provider, or log in with the agent's own command, then send the request again",
  model_rate_limited: "wait a while or choose another model, then send the request again",
  model_unavailable: "check the network and the `baseUrl` of its provider, then send the request again",
  model_unknown: "check the name of the model",
};

/** The provider's own message in a body that an agent passes on unchanged. */
function wordsOf(message: string): string {
  try {
    const body = recordOf(JSON.parse(message));
    return stringOf(recordOf(body["error"])["message"]) || stringOf(body["message"]) || message;
  } catch {
    return message;
  }
}

/** One line without markup: proxies answer with whole pages. */
function plain(message: string): string {
  const line = wordsOf(message)
    .replaceAll(/<(style|script|title)\b[\s\S]*?<\/\1>|<[^<>]*>/gi, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
  return shortReason(line);
}

/** Agents put the reason into the message or into the data. */
export function reasonOf({ message, data }: RequestRefused): string {
  const details = recordOf(data);
  const more =
    typeof data === "string"
      ? data
      : stringOf(details["details"]) || stringOf(details["message"]) || stringOf(details["error"]);
  const isVague = /^(internal error|invalid (?:request|params))\.?$/i.test(message);
  if (more === "") return message === "" ? "it gave no reason" : message;
  return isVague || message === "" ? more : message.includes(more) ? message : `${message}: ${more}`;
}

/** The error of a request that the agent refused in a turn. */
export function refusal(error: RequestRefused, { agent, traits }: AgentProcess): PagurusError {
  if (error.needsLogin) {
    const names = traits.authMethods.map(({ name, variables }) =>
      variables.length === 0 ? name : `${name} with ${variables.join(", ")}`,
    );
    const ways = names.filter((name) => name !== "").join("; ");
    const offers = ways === "" ? "" : ` (it offers: ${ways})`;
    return new PagurusError(
      "model_auth",
      `${agent.label} asks for a login${offers}; log in with the agent's own command, or give the host a key for the model, then send the request again.`,
      { cause: error, details: { agentId: agent.id } },
    );
  }
  const whole = reasonOf(error);
  const reason = plain(whole);
  const code = BY_WORDS.find(([words]) => words.test(whole))?.[1] ?? "runtime_failed";
  return new PagurusError(
    code,
    `${agent.label} ended the turn with an error: ${reason} The conversation is kept; ${ADVICE[code] ?? "send the request again"}.`,
    { cause: error, details: { agentId: agent.id, rpcCode: error.code } },
  );
}
