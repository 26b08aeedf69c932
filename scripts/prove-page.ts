/** The claims of the page to talk in, and the steps that prove each. */
import { tests, type Proof } from "./proof.ts";

export const PAGE: Record<string, Proof> = {
  "page.1": {
    claim:
      "From a fresh home to an answer with a tool call that is allowed for good, and a reload, by keyboard alone and by touch in 360 px; in 12 window sizes no control is under another.",
    steps: [
      tests("a conversation in a real browser", "test/real/page/talk"),
      tests("the page's size", "test/build/inspector-page"),
    ],
  },
};
