/** The claims of the inspector, and the steps that prove each. */
import { tests, type Proof } from "./proof.ts";

export const INSPECTOR: Record<string, Proof> = {
  "inspector.1": {
    claim:
      "Each byte of a captured request has exactly one source, and the parts together are the body, in each protocol.",
    steps: [
      tests("generated and recorded bodies", "test/inspect/body-parts"),
      tests("over the server's routes", "test/server/inspect.process"),
      tests("requests of the real programs", "test/real/inspector-runtimes"),
    ],
  },
  "inspector.5": {
    claim:
      "Hostile content is shown as text and runs nothing, another origin reads nothing, and no secret stays in an address.",
    steps: [
      tests("the page and its policy", "test/build/inspector-page", "test/server/inspect-command"),
      tests("in a browser", "test/real/inspector"),
    ],
  },
};
