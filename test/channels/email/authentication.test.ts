import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isVerified } from "../../../packages/channels/src/email/mail-origin.ts";
import type { MailHeader } from "../../../packages/channels/src/email/mail-headers.ts";

const SERVER = "mx.example.net";

function fields(...values: string[]): MailHeader[] {
  return values.map((value) => {
    const [name = "", ...rest] = value.split(": ");
    return { name: name.toLowerCase(), value: rest.join(": ") };
  });
}

function verified(results: string, from = "ann@example.org"): boolean {
  return isVerified(fields(`Authentication-Results: ${SERVER}; ${results}`), from, SERVER);
}

describe("the sender of a mail", () => {
  it("is proven by DMARC, a signature or a sending machine of its own domain", () => {
    assert.ok(verified("dmarc=pass (p=reject dis=none) header.from=example.org"));
    assert.ok(
      verified("spf=fail smtp.mailfrom=x@y.z; dkim=pass (2048-bit key) header.d=Example.org header.s=a"),
    );
    assert.ok(verified("spf=pass smtp.mailfrom=bounces@example.org"));
    assert.ok(verified("spf=pass smtp.mailfrom=example.org"));
    assert.ok(verified("dkim=pass header.i=@example.org", "ann@mail.example.org"), "signed a domain above");
  });

  it("is not proven by a proof for another domain", () => {
    assert.ok(!verified("dkim=pass header.d=evil.example"));
    assert.ok(!verified("dkim=pass header.d=notexample.org"));
    assert.ok(!verified("dkim=pass header.d=lists.example.org"), "one below");
    assert.ok(!verified("dkim=pass header.d=org"), "a top-level domain");
    assert.ok(!verified("spf=pass smtp.mailfrom=eve@evil.example"));
    assert.ok(!verified("spf=pass smtp.helo=example.org"));
    assert.ok(!verified("dmarc=pass header.from=evil.example"));
    assert.ok(!verified("dmarc=pass"));
  });

  it("is not proven by a failed check, none at all, or text that only looks like one", () => {
    assert.ok(!verified("dmarc=fail header.from=example.org; spf=softfail smtp.mailfrom=example.org"));
    assert.ok(!verified("none"));
    assert.ok(!verified("spf=fail (dkim=pass header.d=example.org) smtp.mailfrom=evil.example"));
    assert.ok(!verified('spf=pass smtp.mailfrom="x; dkim=pass header.d=example.org; y"@evil.example'));
    assert.ok(!verified('spf=pass smtp.mailfrom="x\\"; dkim=pass header.d=example.org; \\"y"@evil.example'));
    assert.ok(!verified('spf=fail reason="; dkim=pass header.d=example.org'), "an open quote");
    assert.ok(!verified("spf=pass smtp.mailfrom=evil.example smtp.mailfrom=example.org"), "the first counts");
    assert.ok(!isVerified([], "ann@example.org", SERVER));
  });

  it("is not proven by a field of another server, or one below the server's own", () => {
    const forged = `Authentication-Results: ${SERVER}; dmarc=pass header.from=example.org`;
    const own = `Authentication-Results: ${SERVER}; dmarc=fail header.from=example.org`;
    const received = "Received: from evil.example by mx.example.net";
    const other = "Authentication-Results: mx.evil.example; dmarc=pass header.from=example.org";
    const from = "ann@example.org";
    assert.ok(!isVerified(fields(other), from, SERVER));
    assert.ok(!isVerified(fields(own, received, forged), from, SERVER));
    const two = `Authentication-Results: ${SERVER}; dkim=pass header.d=example.org`;
    assert.ok(isVerified(fields(own, two, received), from, SERVER), "one field a check");
  });

  it("is not proven by a field of the sender where the server adds none, wherever it is", () => {
    const into = "Received: from localhost by mx.example.net with LMTP id x for <crab@example.net>";
    const smtp = "Received: from evil.example by mx.example.net (Postfix) with ESMTP id y";
    const inside = "Received: from mx.example.net by mailbox.example.net with ESMTPS id z";
    const forged = `Authentication-Results: ${SERVER}; dmarc=pass header.from=example.org`;
    const own = `Authentication-Results: ${SERVER}; dmarc=fail header.from=example.org`;
    const good = `Authentication-Results: ${SERVER}; dmarc=pass header.from=example.org`;
    const other = "Received-SPF: pass";
    const is = (hops: number, ...lines: string[]): boolean =>
      isVerified(fields(...lines), "ann@example.org", SERVER, hops);
    for (const lines of [
      [smtp, forged],
      [into, smtp, forged],
      [smtp, forged, into, smtp],
      [smtp, into, forged, smtp],
      [inside, smtp, forged],
    ])
      assert.ok(!is(0, ...lines), lines.join("\n"));
    assert.ok(is(0, into, good, smtp), "above the server's own trace, below that of the mailbox");
    assert.ok(is(0, good, into, smtp));
    assert.ok(!is(1, inside, smtp, forged), "the server that passed it on added none");
    assert.ok(is(1, inside, good, smtp, forged));
    assert.ok(is(2, inside, smtp, other, good), "below the trace, as some servers write it");
    assert.ok(!is(2, inside, smtp, own, forged), "the first counts there");
  });
});
