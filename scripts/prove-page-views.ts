/** Claims of the page about its views: size, access and safety, screens. */
import { bench, tests, type Proof } from "./proof.ts";

export const PAGE_VIEWS: Record<string, Proof> = {
  "page.2": {
    claim:
      "With 10,000 messages, 1,000 requests and 500 MB of captures each view can be used within 1 s, has at most 600 elements, and scrolls without a frame over 50 ms; the server needs at most 150 MB more, and a tab at most 150 MB after an hour of words.",
    steps: [
      tests("each view of a long session", "test/real/page-long"),
      bench("inspector", "session"),
      bench("inspector", "talk"),
    ],
  },
  "page.3": {
    claim:
      "A live word is on the screen within 100 ms of its event at p95; with cut connections, a restarted server and two open tabs nothing is lost, nothing is there twice, and a waiting question is answered once.",
    steps: [
      tests("lost connections, a restart, two tabs", "test/real/page/lasting", "test/server/browser-logins"),
      bench("inspector", "talk"),
    ],
  },
  "page.4": {
    claim:
      "No view has a serious finding of axe in either theme at three widths, each text has a contrast of at least 4.5, every control can be reached, and hostile content of 40 kinds runs nothing and asks for nothing.",
    steps: [
      tests("colours", "test/build/page-tokens"),
      tests("axe and reach in each view", "test/real/page-access"),
      tests("the tree of a screen reader", "test/real/page/screen-reader"),
      tests("hostile content", "test/real/page-hostile"),
    ],
  },
  "page.5": {
    claim:
      "Ten tasks of a person who uses the page for the first time take at most three actions each: find an answer, see a cost, undo, continue in Codex, stop from a phone, allow for good, change the model, find what was left out, export, pair.",
    steps: [tests("ten tasks in a real browser", "test/real/page/tasks")],
  },
  "page.6": {
    claim: "The screens of each view, in both themes and three sizes, are those of the page as it is.",
    steps: [{ title: "screens", args: ["scripts/page-screens.ts"] }],
  },
};
