/** The claims about bytes of others, and the steps that prove each. */
import { tests, type Proof } from "./proof.ts";

export const BYTES: Record<string, Proof> = {
  "bytes.1": {
    claim:
      "Answers as real servers send them, and more than 900 of the published suite, have their right result in the readers, through `wire`, in the embedded loop, and through `serve` in every direction of protocols.",
    steps: [
      tests("answers of real servers", "test/protocols/examples.test.ts"),
      tests("the suite, at each door", "test/testkit/strange-servers/"),
      tests("overflows in any words", "test/model/overflow.test.ts"),
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
  "bytes.4": {
    claim:
      "The published scenarios of MCP for clients pass, logins and questions included, all but one that needs a company's identity provider.",
    steps: [
      tests("conformance, with the table", "test/real/mcp/conformance"),
      tests(
        "logins, questions, lists and results",
        "test/mcp/client/oauth",
        "test/mcp/client/elicitation",
        "test/mcp/asked",
        "test/mcp/client/liars",
      ),
    ],
  },
};
