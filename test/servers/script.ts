/** Script types of a scripted model server; the suites of `pagurus/testkit` use the same ones. */
export type {
  Protocol,
  RecordedRequest,
  ReplyScript,
  ReplyStep,
  ReplyToolCall,
  ReplyUsage,
} from "../../packages/testkit/src/endpoint/script.ts";
