/** The embedded loop and the suite of strange servers. */
import { describe } from "node:test";
import { createPagurus } from "../../../packages/app/src/index.ts";
import { strangeServerChecks, testStrangeServers } from "../../../packages/testkit/src/index.ts";
import { everyNth } from "../../runner/short-form.ts";
import { loopClientOf } from "./loop-client.ts";

describe("the embedded loop", () => {
  const only = everyNth(strangeServerChecks(), 13).map(({ id }) => id);
  testStrangeServers("a strange server", { client: loopClientOf(createPagurus), only });
});
