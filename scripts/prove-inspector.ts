/** The claims of the inspector, and the steps that prove each. */
import { bench, tests, type Proof } from "./proof.ts";

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
  "inspector.2": {
    claim:
      "Provoked cache misses are named by their cause, by our own finding and the provider's; a hit is no miss.",
    steps: [
      tests("our finding", "test/turn/cache-verdicts"),
      tests("the provider's", "test/model/cache-diagnosis", "test/real/wire/cache-diagnosis"),
      tests("what changed between two requests", "test/inspect/body-diff"),
      tests("on the page, with both providers' shapes", "test/real/inspector-cache"),
    ],
  },
  "inspector.3": {
    claim:
      "A session of 10,000 messages with 1,000 captured requests of 675 MB is painted within 300 ms, can be used within 1 s and scrolls without a frame over 50 ms; the page has at most 500 elements and 150 kB, and the server needs at most 150 MB more.",
    steps: [bench("inspector", "session"), tests("the page's size", "test/build/inspector-page")],
  },
  "inspector.4": {
    claim:
      "What happens in a turn of a server is on the page within 100 ms, and after a lost connection each item is there once.",
    steps: [tests("in a browser", "test/real/inspector-live"), bench("inspector", "live")],
  },
  "inspector.5": {
    claim:
      "Hostile content is shown as text and runs nothing, another origin reads nothing, and no secret stays in an address.",
    steps: [
      tests("the page and its policy", "test/build/inspector-page", "test/server/inspect-command"),
      tests("in a browser", "test/real/inspector."),
      tests("in a saved file", "test/server/inspect-export", "test/real/inspector-report"),
    ],
  },
  "inspector.6": {
    claim:
      "Each page has no serious finding of axe in both themes, fits 360 px, and is reached by keyboard alone.",
    steps: [
      tests("axe", "test/real/inspector-access", "test/real/inspector-doing-access"),
      tests("the walk by keyboard", "test/real/inspector."),
    ],
  },
  "inspector.7": {
    claim:
      "A login with the scope chat sends, steers, stops, answers, compacts, pins and forks on the page; one that reads sees none of it, and the server refuses it.",
    steps: [tests("in a browser", "test/real/inspector-doing.")],
  },
};
