/** Claims of the page about its views: size, access and safety, screens. */
import { bench, tests, type Proof } from "./proof.ts";

export const PAGE_VIEWS: Record<string, Proof> = {
  "page.2": {
    claim:
      "With 10,000 messages, 1,000 requests and 500 MB of captures each view can be used within 1 s, has at most 600 elements, and scrolls without a frame over 50 ms; the server needs at most 150 MB more.",
    steps: [tests("each view of a long session", "test/real/page-long"), bench("inspector", "session")],
  },
  "page.4": {
    claim:
      "No view has a serious finding of axe in either theme at three widths, each text has a contrast of at least 4.5, every control can be reached, and hostile content of 40 kinds runs nothing and asks for nothing.",
    steps: [
      tests("colours", "test/build/page-tokens"),
      tests("axe and reach in each view", "test/real/page-access"),
      tests("hostile content", "test/real/page-hostile"),
    ],
  },
  "page.6": {
    claim: "The screens of each view, in both themes and three sizes, are those of the page as it is.",
    steps: [{ title: "screens", args: ["scripts/page-screens.ts"] }],
  },
};
