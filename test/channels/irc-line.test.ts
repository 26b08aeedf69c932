import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { formatLine, linesOf, parseLine, plainLineText } from "../../packages/channels/src/irc/irc-line.ts";

describe("a line of IRC", () => {
  it("has tags, a source, a command and parameters", () => {
    assert.deepEqual(
      parseLine("@account=ann;label=a\\sb\\:c :ann!~ann@host PRIVMSG #boats :hello:  there "),
      {
        tags: { account: "ann", label: "a b;c" },
        source: "ann!~ann@host",
        command: "PRIVMSG",
        params: ["#boats", "hello:  there "],
      },
    );
    assert.deepEqual(parseLine(":irc.test 001 crab :Welcome"), {
      tags: {},
      source: "irc.test",
      command: "001",
      params: ["crab", "Welcome"],
    });
    assert.deepEqual(parseLine("ping x")?.command, "PING");
    assert.deepEqual(parseLine("AUTHENTICATE +")?.params, ["+"]);
    assert.deepEqual(parseLine("PRIVMSG crab :")?.params, ["crab", ""]);
    for (const none of ["", ":only.source", "@a=b", "12 x"]) assert.equal(parseLine(none), undefined, none);
  });

  it("cannot carry a second command", () => {
    assert.equal(formatLine("PRIVMSG", "ann", "hi\r\nQUIT :x"), "PRIVMSG ann :hi QUIT :x");
    assert.equal(formatLine("NICK", "crab"), "NICK :crab");
    assert.equal(formatLine("PING"), "PING");
  });

  it("is read without colours and control characters", () => {
    assert.equal(
      plainLineText("\u000304,12red\u0003 \u0002bold\u0002\u0007 and\tmore\u001b[31m"),
      "red bold and more[31m",
    );
  });
});

describe("a text as lines", () => {
  it("is split at its own lines, then at spaces, then between characters", () => {
    assert.deepEqual(linesOf("one\n\n  two\r\nthree", 100), ["one", "  two", "three"]);
    assert.deepEqual(linesOf("aaa bbb ccc", 7), ["aaa bbb", "ccc"]);
    assert.deepEqual(linesOf("abcdefgh ij", 4), ["abcd", "efgh", "ij"]);
    assert.deepEqual(linesOf("ñññ", 4), ["ññ", "ñ"]);
    assert.deepEqual(linesOf("👩‍👩‍👧👩‍👩‍👧", 30), ["👩‍👩‍👧", "👩‍👩‍👧"]);
    assert.deepEqual(linesOf(" \n ", 10), []);
  });

  it("has every character of it but spaces, in lines that fit, none of them cut", () => {
    const text = fc.string({ unit: "binary", maxLength: 400 });
    fc.assert(
      fc.property(text, fc.integer({ min: 4, max: 60 }), (written, max) => {
        const lines = linesOf(written, max);
        for (const line of lines) {
          assert.ok(Buffer.byteLength(line) <= max);
          assert.ok(line.isWellFormed());
          assert.doesNotMatch(line, /[\r\n]/);
        }
        const bare = (each: string): string => each.toWellFormed().replaceAll(/\s/g, "");
        assert.equal(bare(lines.join("")), bare(written));
      }),
    );
  });
});
