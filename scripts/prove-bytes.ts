/** The claims about bytes of others, and the steps that prove each. */
import { BEFORE_OWN_PROTOCOLS } from "./old-checkout.ts";
import { tests, type Proof } from "./proof.ts";

export const BYTES: Record<string, Proof> = {
  "bytes.1": {
    claim:
      "Answers as real servers send them, and more than 900 of the published suite, have their right result in the readers, through `wire`, in the embedded loop, and through the three APIs of `serve` with a model of each protocol.",
    steps: [
      tests("answers of real servers", "test/protocols/examples.test.ts"),
      tests("the suite, at each door", "test/testkit/strange-servers/"),
      tests("overflows in any words", "test/model/overflow.test.ts"),
      { title: "wrong results before and now", args: ["--no-warnings", "scripts/prove-strange.ts"] },
    ],
  },
  "bytes.2": {
    claim:
      "Of generated answers with random events, orders, splits and unknown parts nothing that has a plain meaning is lost, nothing is doubled, or a degradation names it.",
    steps: [
      tests("generated answers of each protocol", "test/protocols/generated.test.ts"),
      tests("server-sent events", "test/protocols/sse.test.ts"),
      tests("requests of each protocol", "test/model/written-requests.test.ts"),
      tests("requests of clients", "test/model-api/chats.test.ts", "test/model-api/shaping.test.ts"),
    ],
  },
  "bytes.3": {
    claim:
      "Chats of 20 turns of openai, @anthropic-ai/sdk, ai, @openai/agents and langchain, with tools, parallel calls, formats, images, streams and aborts, pass with a model of each protocol; each is one session, the model gets all of it, and chats that begin alike stay apart.",
    steps: [
      tests("client libraries (`npm run setup:libraries`)", "test/real/libraries/"),
      tests("equal chats, in sequence and at once", "test/model-api/chats.test.ts"),
      tests(
        "items, references, shapes",
        "test/model-api/item-types",
        "test/model-api/references",
        "test/model-api/shaping",
      ),
    ],
  },
  "bytes.4": {
    claim:
      "The published scenarios of MCP for clients pass, logins and questions included, all but one that needs a company's identity provider.",
    steps: [
      tests("conformance", "test/real/mcp/conformance"),
      {
        title: "table",
        args: ["-p", "require('node:fs').readFileSync('node_modules/.cache/mcp-conformance.txt', 'utf8')"],
      },
      tests(
        "logins, questions, lists and results",
        "test/mcp/client/oauth",
        "test/mcp/client/elicitation",
        "test/mcp/asked",
        "test/mcp/client/liars",
      ),
    ],
  },
  "bytes.5": {
    claim:
      "An installed one-shot run needs at least 25 % less CPU with each model protocol than with the provider packages, less memory and a smaller installation; the gateway and the server are no slower.",
    steps: [
      { title: "pairs of installed one-shot runs", args: ["scripts/prove-one-shot.ts"] },
      {
        title: "pairs of the gateway at 200 streams and of the server",
        args: [
          "scripts/bench-pairs.ts",
          "--before",
          BEFORE_OWN_PROTOCOLS,
          "--only",
          "passthrough,first-byte,serve",
        ],
      },
    ],
  },
};
