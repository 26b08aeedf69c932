import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { automaticKind } from "../../../packages/channels/src/email/mail-origin.ts";
import { ownMessageId } from "../../../packages/channels/src/email/mail-thread.ts";

const ADDRESS = "crab@example.org";

function kindOf(field: string, from = "ann@example.org"): string | undefined {
  const [name = "", ...rest] = field.split(": ");
  return automaticKind([{ name: name.toLowerCase(), value: rest.join(": ") }], from, ADDRESS);
}

describe("mail that is never answered", () => {
  it("is that of lists, programs and absent people", () => {
    for (const field of [
      "Auto-Submitted: auto-replied",
      "Auto-Submitted: auto-generated; owner=x",
      "Precedence: bulk",
      "Precedence: list",
      "List-Id: <crabs.example.org>",
      "X-Autoreply: yes",
    ])
      assert.equal(kindOf(field), "automatic", field);
    assert.equal(kindOf("Subject: x", "no-reply@example.org"), "automatic");
  });

  it("is a report that a mail did not arrive", () => {
    assert.equal(kindOf("Return-Path: <>"), "bounce");
    assert.equal(kindOf("Content-Type: multipart/report; report-type=delivery-status"), "bounce");
    assert.equal(kindOf("Subject: x", "mailer-daemon@example.org"), "bounce");
  });

  it("is the host's own", () => {
    assert.equal(kindOf("X-Loop: Crab@example.org"), "own");
    assert.equal(kindOf(`Message-ID: ${ownMessageId("01J-0", "0123456789abcdef", ADDRESS)}`), "own");
    assert.equal(kindOf("Subject: x", ADDRESS), "own");
  });

  it("is not that of a person", () => {
    for (const field of [
      "Auto-Submitted: no",
      "Precedence: first-class",
      "Return-Path: <ann@example.org>",
      "X-Loop: other@example.org",
      `Message-ID: ${ownMessageId("01J-0", "0123456789abcdef", "crab@example.net")}`,
    ])
      assert.equal(kindOf(field), undefined, field);
  });
});
