import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readMail } from "../../../src/channels/email/read-mail.ts";

function mail(...lines: string[]): Buffer {
  return Buffer.from(["From: Ann <Ann@Example.org>", "Message-ID: <1@a>", ...lines].join("\r\n"));
}

function multipart(kind: string, ...parts: string[][]): Buffer {
  const all = parts.flatMap((lines) => ["--b", ...lines]);
  return mail(`Content-Type: multipart/${kind}; boundary=b`, "", ...all, "--b--", "");
}

describe("a mail that is read", () => {
  it("has its sender, its subject and its own words, in whatever charset", async () => {
    const read = await readMail(
      mail(
        "Subject: =?utf-8?Q?Bl=C3=A5_b=C3=B8yer?=",
        "Content-Type: text/plain; charset=iso-8859-1",
        "Content-Transfer-Encoding: quoted-printable",
        "",
        "Gr=FC=DFe",
        "",
        "> quoted",
      ),
    );
    assert.equal(read?.from, "ann@example.org");
    assert.equal(read?.name, "Ann");
    assert.equal(read?.subject, "Blå bøyer");
    assert.equal(read?.text, "Grüße");
  });

  it("prefers plain text, and turns HTML into text where there is none", async () => {
    const html = [
      "Content-Type: text/html",
      "",
      "<style>p{}</style><p>From <b>HTML</b></p><script>x()</script>",
    ];
    const plain = ["Content-Type: text/plain", "", "From plain text"];
    const file = ["Content-Type: text/plain; name=a.txt", "Content-Disposition: attachment", "", "file"];
    assert.equal((await readMail(multipart("alternative", plain, html)))?.text, "From plain text");
    assert.equal((await readMail(multipart("alternative", html)))?.text, "From HTML");
    const mixed = await readMail(multipart("mixed", html, file));
    assert.equal(mixed?.text, "From HTML");
    assert.equal(mixed?.attachments.length, 1);
  });

  it("has one sender or none", async () => {
    const two = await readMail(Buffer.from("From: a@b.c, d@e.f\r\n\r\nx"));
    const twice = await readMail(Buffer.from("From: a@b.c\r\nFrom: d@e.f\r\n\r\nx"));
    const odd = await readMail(Buffer.from('From: "a@b.c" <"x y"@e.f>\r\n\r\nx'));
    const none = await readMail(Buffer.from("Subject: x\r\n\r\nx"));
    for (const read of [two, twice, odd, none]) assert.equal(read?.from, undefined);
    const named = await readMail(Buffer.from('From: "ann@example.org" <eve@evil.example>\r\n\r\nx'));
    assert.equal(named?.from, "eve@evil.example");
  });

  it("keeps within its limits, and has no control characters", async () => {
    const parts = Array.from({ length: 500 }, () => ["Content-Type: text/plain", "", "x"]);
    assert.equal(await readMail(multipart("mixed", ...parts)), undefined, "too many parts");
    let nested = ["Content-Type: text/plain", "", "deep"];
    for (let depth = 0; depth < 300; depth += 1)
      nested = [
        `Content-Type: multipart/mixed; boundary=b${depth}`,
        "",
        `--b${depth}`,
        ...nested,
        `--b${depth}--`,
      ];
    assert.equal(await readMail(mail(...nested)), undefined, "too deep");
    assert.equal(await readMail(mail(`X: ${"x".repeat(400_000)}`, "", "x")), undefined, "too long a head");
    const deep = await readMail(mail("Content-Type: text/html", "", "<div>".repeat(50_000)));
    assert.match(deep?.problems.join() ?? "", /HTML text was not read/);
    const control = await readMail(mail("Subject: a\u0007b", "", "a\u001B[2Jb\u202Ec\u0000"));
    assert.equal(control?.text, "a[2Jbc");
    assert.doesNotMatch(control?.subject ?? "", /\p{Cc}/u);
    const long = await readMail(mail("", "x".repeat(2_000_000)));
    assert.equal(long?.text.length, 1024 * 1024);
  });

  it("has its attachments with their names and bytes", async () => {
    const png = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
    const file = [
      "Content-Disposition: attachment; filename=dot.png",
      "Content-Type: image/png",
      "Content-Transfer-Encoding: base64",
      "",
      png.toString("base64"),
    ];
    const read = await readMail(multipart("mixed", file, ["Content-Type: text/csv", "", "a,b"]));
    assert.deepEqual(
      read?.attachments.map(({ name, mimeType, bytes }) => [name, mimeType, Buffer.from(bytes)]),
      [
        ["dot.png", "image/png", png],
        ["attachment 2", "text/csv", Buffer.from("a,b")],
      ],
    );
  });
});
