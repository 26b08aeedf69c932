import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readMail } from "../../../packages/channels/src/email/read-mail.ts";

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

  it("has no words that its HTML hides", async () => {
    const hidden = [
      '<div style="display:none">HID</div>',
      '<div style="DISPLAY : none !important">HID</div>',
      '<div style="display&#58;none">HID</div>',
      '<div style="dis\\70lay:none">HID</div>',
      '<div style="/* */display:/**/none">HID</div>',
      "<div style=display:none>HID</div>",
      '<div title="a>b" style="display:none">HID<div>HID</div>HID</div>',
      '<span style="visibility:hidden">HID</span>',
      '<span style="opacity:0">HID</span>',
      '<span style="font-size:0">HID</span>',
      '<span style="font: 1px serif">HID</span>',
      '<span style="font-size:1px"><b>HID</b></span>',
      '<span style="mso-hide:all">HID</span>',
      '<div style="max-height:0;overflow:hidden">HID</div>',
      '<div style="position:absolute;left:-9999px">HID</div>',
      '<div style="text-indent:-9999px">HID</div>',
      '<div style="clip:rect(0 0 0 0);position:absolute">HID</div>',
      '<div style="transform:scale(0)">HID</div>',
      '<span style="color:#fff">HID</span>',
      '<font color="white">HID</font>',
      '<span style="color:transparent">HID</span>',
      "<p hidden>HID</p>",
      "<template>HID</template>",
      "<title>HID</title>",
      "<style>.x{display:none}</style><p class='a X'>HID</p>",
      "<style>p#y, b { color: red } td .x { visibility:hidden }</style><p class=x>HID</p>",
      "<style>.x{font-size:0}</style><p class=x>HID</p>",
    ];
    const file = ["Content-Type: text/plain; name=a.txt", "Content-Disposition: attachment", "", "file"];
    for (const html of hidden)
      for (const whole of [`<p>Seen</p>${html}<p>too</p>`, `<html><body>${html}<p>Seen</p><p>too</p>`]) {
        const part = ["Content-Type: text/html", "", whole];
        for (const read of [await readMail(mail(...part)), await readMail(multipart("mixed", part, file))])
          assert.equal(read?.text.replaceAll(/\s+/g, " "), "Seen too", html);
      }
    const open = await readMail(
      mail("Content-Type: text/html", "", "<p>Seen</p><div style='display:none'>HID"),
    );
    assert.equal(open?.text, "Seen");
  });

  it("keeps the words that its HTML shows", async () => {
    const shown = [
      '<td style="font-size:0px"><div style="font-size:13px">word</div></td>',
      '<div style="visibility:hidden"><b style="visibility:visible">word</b></div>',
      '<td bgcolor="#003366"><span style="color:#ffffff">word</span></td>',
      '<div style="background-color:navy;color:white">word</div>',
      '<img style="display:none" src=x><p>word</p>',
      '<p style="margin:0;padding:0">word</p>',
      "<style>.x{display:none}</style><p class=y>word</p>",
      "<p>word</p><p style='display:none'>no</p>",
      "a < b <p>word</p>",
    ];
    for (const html of shown) {
      const read = await readMail(mail("Content-Type: text/html", "", html));
      assert.match(read?.text ?? "", /word/, html);
      assert.doesNotMatch(read?.text ?? "", /\bno\b/, html);
    }
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
