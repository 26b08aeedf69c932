/** The suite of strange servers: raw answers as model servers send them, and the one result that each has at every door. */
import { errorText } from "@pagurus/core/data/error-text";
import { isDeepStrictEqual } from "node:util";
import {
  about,
  runSuite,
  testSuite,
  type Check,
  type CheckInfo,
  type RegisterTest,
  type Suite,
  type SuiteChoice,
  type SuiteReport,
} from "../conformance-suite.ts";
import { must, shown } from "../conformance-check.ts";
import type { Protocol } from "../endpoint/script.ts";
import { allStrangeAnswers } from "./strange-answers.ts";
import type { RightResult, StrangeAnswer } from "./strange-answer.ts";
import { StrangeEndpoint } from "./strange-endpoint.ts";

/** What the tested client is asked to do. */
export interface StrangeRequest {
  /** The address of the server, without a path; every POST is answered. */
  baseUrl: string;
  protocol: Protocol;
  prompt: string;
  /** Offer both tools; a result of any text is fine. */
  tools: readonly { name: string; description: string; parameters: Record<string, unknown> }[];
}

/** The client's result of the first answer. A member that the client does not have stays absent and is not compared. */
export interface StrangeResult {
  text?: string;
  thinking?: string;
  /** Calls as the tools received them. */
  calls?: readonly { name: string; arguments: Record<string, unknown> }[];
  usage?: { input: number; output: number };
  /** The sentence that the user sees if the answer failed. */
  error?: string;
}

/**
 * The client under test: sends one prompt to the server and returns its result. Called once for each answer, one after the other. A
 * throw counts as `error` with the message of what was thrown.
 */
export type StrangeClient = (request: StrangeRequest) => Promise<StrangeResult>;

export interface StrangeSuiteOptions extends SuiteChoice {
  client: StrangeClient;
  /** Default: all four. */
  protocols?: readonly Protocol[];
  /** Requests that one answer may cost the client; default: not checked. */
  mostRequests?: number;
}

const TOOLS: StrangeRequest["tools"] = [
  {
    name: "probe",
    description: "Probes a key.",
    parameters: { type: "object", properties: { k: { type: "string" } }, required: ["k"] },
  },
  { name: "nothing", description: "Does nothing.", parameters: { type: "object", properties: {} } },
];
const PROMPT = "Say hello, or call a tool.";

/** Throws `Violation` unless `result` is the right one of the answer. */
export function mustBeRight(right: RightResult, result: StrangeResult): void {
  const { error } = right;
  if (error !== undefined) {
    must(result.error !== undefined, `The answer is an error and counts as a success: ${shown(result)}`);
    must(result.error?.includes(error), `The server's words are not in the error: ${shown(result.error)}`);
    return;
  }
  if (right.refusal !== undefined) {
    const words = [result.text, result.error].join(" ");
    must(words.includes(right.refusal), `The model's refusal is not shown: ${shown(result)}`);
    return;
  }
  must(result.error === undefined, `The answer fails: ${shown(result.error)}`);
  mustHave("text", right.text, result.text);
  mustHave("thinking", right.thinking, result.thinking);
  mustHave("usage", right.usage, result.usage);
  const calls = result.calls?.map(({ name, arguments: args }) => [name, args] as const);
  mustHave("calls", right.calls, calls);
}

function mustHave(name: string, right: unknown, own: unknown): void {
  if (right === undefined || own === undefined || isDeepStrictEqual(right, own)) return;
  must(false, `Its ${name} is ${shown(own)} in place of ${shown(right)}`);
}

interface Context {
  endpoint: StrangeEndpoint;
  client: StrangeClient;
  mostRequests: number | undefined;
}

async function check({ endpoint, client, mostRequests }: Context, answer: StrangeAnswer): Promise<void> {
  const baseUrl = await endpoint.open();
  endpoint.answerWith(answer);
  let result: StrangeResult;
  try {
    result = await client({ baseUrl, protocol: answer.protocol, prompt: PROMPT, tools: TOOLS });
  } catch (error) {
    result = { error: errorText(error) };
  }
  mustBeRight(answer.right, result);
  if (mostRequests === undefined) return;
  must(endpoint.requests <= mostRequests, `The answer cost ${endpoint.requests} requests`);
}

function suiteOf({ client, protocols, mostRequests }: StrangeSuiteOptions): Suite<Context> {
  const answers = allStrangeAnswers().filter(({ protocol }) => protocols?.includes(protocol) ?? true);
  const checks = answers.map((answer): Check<Context> => ({
    id: answer.id,
    title: `A server of ${answer.protocol} ${answer.title}`,
    run: (context) => check(context, answer),
  }));
  return {
    kind: "strange servers",
    checks,
    open() {
      const endpoint = new StrangeEndpoint();
      return { context: { endpoint, client, mostRequests }, end: () => endpoint.close() };
    },
  };
}

/** The raw answers with their right results, for a client that reads bytes without a server. */
export function strangeAnswers(): readonly StrangeAnswer[] {
  return allStrangeAnswers();
}

export function strangeServerChecks(): CheckInfo[] {
  return allStrangeAnswers().map(({ id, protocol, title }) =>
    about({ id, title: `A server of ${protocol} ${title}` }),
  );
}

/** Runs the suite against a client. Throws `usage_invalid` for an unknown id. */
export function runStrangeServers(options: StrangeSuiteOptions): Promise<SuiteReport> {
  return runSuite(suiteOf(options), options);
}

/** Registers one test for each answer. Throws `usage_invalid` for an unknown id. */
export function testStrangeServers(name: string, options: StrangeSuiteOptions, test?: RegisterTest): void {
  testSuite(name, suiteOf(options), options, test);
}
