import assert from "node:assert/strict";
import { test } from "node:test";
import {
  mentions,
  withoutAddress,
  withoutMentions,
} from "../../../packages/channels/src/chat-sdk/github-event.ts";

test("an account is mentioned by its whole name, outside of code and quoted lines", () => {
  for (const body of ["@crab-bot help", "hi @Crab-Bot!", "(@crab-bot)", "> old\n@crab-bot new"])
    assert.equal(mentions(body, "crab-bot"), true, body);
  for (const body of [
    "@crab-bot2 help",
    "@crab-bot-2 help",
    "mail@crab-bot.example",
    "github.com/@crab-bot",
    "> @crab-bot help",
    "`@crab-bot`",
    "```\n@crab-bot\n```",
    "crab-bot",
  ])
    assert.equal(mentions(body, "crab-bot"), false, body);
});

test("the mention that begins a comment is not part of its words", () => {
  assert.equal(withoutAddress("@crab-bot: what is this?", "crab-bot"), "what is this?");
  assert.equal(withoutAddress("@crab-bot-2 what is this?", "crab-bot"), "@crab-bot-2 what is this?");
});

test("no name in an answer is a mention, and code stays as it is", () => {
  assert.equal(
    withoutMentions("ask @ann or @boats/crew\n```\n@Inject\n```\nor `@x`"),
    "ask @<!-- -->ann or @<!-- -->boats/crew\n```\n@Inject\n```\nor `@x`",
  );
});
