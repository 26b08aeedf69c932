import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { MailHeader } from "../../../packages/channels/src/email/mail-headers.ts";
import {
  answeredMail,
  ownMessageId,
  parseReply,
  replyContext,
  replySubject,
  threadIn,
} from "../../../packages/channels/src/email/mail-thread.ts";

const ADDRESS = "crab@example.org";

function mail(fields: Record<string, string>): MailHeader[] {
  return Object.entries(fields).map(([name, value]) => ({ name, value }));
}

describe("the thread of a mail", () => {
  const root = mail({ "message-id": "<root@a>" });
  const thread = threadIn(root, ADDRESS, "");

  it("is that of its first mail", () => {
    assert.match(thread, /^[0-9a-f]{16}$/);
    const later = mail({ "message-id": "<c@a>", references: "<root@a> <b@a>", "in-reply-to": "<b@a>" });
    assert.equal(threadIn(later, ADDRESS, ""), thread);
    const short = mail({ "message-id": "<b@a>", "in-reply-to": "<root@a>" });
    assert.equal(threadIn(short, ADDRESS, ""), thread);
    assert.notEqual(threadIn(mail({ "message-id": "<other@a>" }), ADDRESS, ""), thread);
    assert.notEqual(threadIn([], ADDRESS, "one"), threadIn([], ADDRESS, "two"));
  });

  it("is found by an answer to the host's mail alone", () => {
    const own = ownMessageId("01J-0", thread, ADDRESS);
    assert.equal(threadIn(mail({ "in-reply-to": own }), ADDRESS, ""), thread);
    assert.equal(threadIn(mail({ references: `<lost@a> ${own} <c@a>` }), ADDRESS, ""), thread);
    const foreign = ownMessageId("01J-0", thread, "crab@evil.example");
    assert.notEqual(threadIn(mail({ references: foreign }), ADDRESS, ""), thread);
  });
});

describe("an answer in a thread", () => {
  it("refers to the mails before it, at most 20, the first among them", () => {
    const many = Array.from({ length: 50 }, (_, index) => `<m${index}@a>`);
    const { references, messageId } = replyContext(
      mail({ "message-id": "<x@a>", references: many.join(" ") }),
      "Hello",
    );
    assert.equal(messageId, "<x@a>");
    assert.equal(references.length, 20);
    assert.equal(references[0], "<m0@a>");
    assert.equal(references.at(-1), "<x@a>");
  });

  it("names the one mail that it answers", () => {
    const own = ownMessageId("q-1-ask", "0".repeat(16), ADDRESS);
    const other = ownMessageId("w-1-0", "0".repeat(16), ADDRESS);
    const cases: [Record<string, string>, string | undefined][] = [
      [{ "in-reply-to": own }, "q-1-ask"],
      [{ "in-reply-to": other, references: `${other} ${own}` }, "w-1-0"],
      [{ references: `${other} ${own}` }, "q-1-ask"],
      [{ references: `${own} <b@a>` }, "<b@a>"],
      [{ "in-reply-to": `${own} ${other}` }, `${own} ${other}`],
      [{ "in-reply-to": ownMessageId("q-1-ask", "0".repeat(16), "crab@evil.example") }, undefined],
      [{}, undefined],
    ];
    for (const [fields, id] of cases) {
      const found = answeredMail(mail(fields), ADDRESS);
      if (id !== undefined || fields["in-reply-to"] === undefined) assert.equal(found, id);
      else assert.doesNotMatch(found ?? "", /^q-1-ask$/, "an id of another domain is not ours");
    }
  });

  it("survives being stored as text", () => {
    const context = replyContext(mail({ "message-id": "<x@a>" }), "Hello");
    assert.deepEqual(parseReply(JSON.stringify(context)), context);
    assert.deepEqual(parseReply(undefined), { messageId: "", references: [], subject: "" });
  });

  it("has the subject with one prefix", () => {
    assert.equal(replySubject("Buoys"), "Re: Buoys");
    assert.equal(replySubject("RE: Aw: Fwd: Buoys"), "Re: Buoys");
    assert.equal(replySubject(" "), "Re: your mail");
    assert.equal(replySubject("Regarding: x"), "Re: Regarding: x");
  });
});
