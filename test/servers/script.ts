/** What a scripted model server is told to answer; the suites of `pagurus/testkit` have the same words for it. */
export type {
  Protocol,
  RecordedRequest,
  ReplyScript,
  ReplyStep,
  ReplyToolCall,
  ReplyUsage,
} from "../../src/testkit/endpoint/script.ts";
