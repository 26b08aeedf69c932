/** The claims of the server, and the steps that prove each. */
import { bench, tests, type Proof } from "./proof.ts";

export const SERVE: Record<string, Proof> = {
  "serve.1": {
    claim: "Clients of OpenAI's and Anthropic's APIs get answers of models and agents, streamed or not.",
    steps: [
      tests(
        "endpoints, agents, answers without a stream",
        "test/model-api/endpoints",
        "test/model-api/agents",
        "test/model-api/whole-answers",
      ),
      tests(
        "the packages openai and @anthropic-ai/sdk, against the providers' shapes and the server",
        "test/real/model-api/openai-",
        "test/real/model-api/anthropic-",
      ),
      tests(
        "conversations, stored and background responses",
        "test/model-api/stored-responses",
        "test/model-api/response-conversations",
        "test/model-api/background",
      ),
      tests("the compliance cases of Open Responses", "test/real/model-api/compliance"),
    ],
  },
  "serve.2": {
    claim:
      "A client that resends everything has one session through compactions; an edit and a regeneration are a fork each; tokens stay apart.",
    steps: [
      tests("50 turns through 4 compactions", "test/model-api/compactions", "test/model-api/clients"),
      tests("whose conversation", "test/model-api/conversations"),
    ],
  },
  "serve.3": {
    claim:
      "Work that a server accepted has exactly one turn, and each follower every event once, whatever is killed.",
    steps: [
      tests("2,000 posts and kill -9", "test/server/kills"),
      tests("crashes at each stage of a turn", "test/server/crash"),
    ],
  },
  "serve.4": {
    claim:
      "Codex, opencode and pi compact at the model API, for any engine and a model of any protocol, and their sessions continue.",
    steps: [
      tests("compactions that a client asks for", "test/model-api/compact."),
      tests(
        "the real programs",
        "test/real/model-api/codex-compaction",
        "test/real/model-api/opencode-compaction",
        "test/real/model-api/pi-compaction",
      ),
    ],
  },
  "serve.5": {
    claim:
      "Jobs and heartbeats run once or by their policy, through changed clocks and restarts; 1,000 idle jobs cost below 1 % of a core.",
    steps: [
      tests("jobs and heartbeats", "test/schedule/", "test/server/jobs"),
      { title: "1,000 idle jobs", args: ["scripts/prove-idle-jobs.ts"] },
    ],
  },
  "serve.6": {
    claim:
      "Tokens, hosts, origins and limits hold; 100,000 requests at random get an answer, and memory stays flat.",
    steps: [
      tests("who may", "test/server/access", "test/server/limits"),
      tests("requests at random", "test/server/fuzz"),
      tests("a page of another site", "test/real/server-browser"),
    ],
  },
  "serve.7": {
    claim: "The server adds little to a turn, accepts work fast, and idle streams cost little.",
    steps: [bench("serve")],
  },
  "serve.8": {
    claim: "A server stays as it was through 1,500 turns: its memory, its open files, its event log.",
    steps: [tests("1,500 turns", "test/server/soak", "test/inbox/")],
  },
  "serve.9": {
    claim:
      "The commands of a terminal are the same over a server: output, plugins' commands, permission questions, of which the first answer counts.",
    steps: [
      tests("the same commands", "test/cli/server/", "test/server/diff"),
      tests("questions in a real terminal", "test/real/cli/server-tmux"),
    ],
  },
};
