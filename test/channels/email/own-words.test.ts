import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ownWords } from "../../../packages/channels/src/email/own-words.ts";

function lines(...all: string[]): string {
  return all.join("\n");
}

describe("the own words of a mail", () => {
  it("are what is above the quoted mail, whoever announces it", () => {
    for (const announced of [
      "On Mon, 3 Nov 2026 at 10:00, Crab <crab@example.org> wrote:",
      "Am 03.11.2026 um 10:00 schrieb Crab:",
      "Le 3 nov. 2026 à 10:00, Crab a écrit :",
      lines("On Mon, 3 Nov 2026 at 10:00 Crab with a long address", "<crab@example.org> wrote:"),
    ]) {
      assert.equal(ownWords(lines("Yes.", "", announced, "> May I do this?", "> Answer yes or no.")), "Yes.");
      assert.equal(ownWords(lines("Yes.", "", announced, "", "> May I do this?", "", "")), "Yes.");
    }
  });

  it("are what is below a single quoted mail", () => {
    assert.equal(
      ownWords(lines("Crab wrote:", "> Which one?", "", "The blue one.")),
      lines("Crab wrote:", "", "The blue one."),
    );
    assert.equal(
      ownWords(lines("On Monday, 3 Nov 2026, Crab wrote:", "> Which?", "The blue one.")),
      "The blue one.",
    );
  });

  it("keep the quotes that are answered point by point", () => {
    const text = lines(
      "On Monday, 3 Nov 2026, Crab wrote:",
      "> First?",
      "Yes.",
      "> Second?",
      "No.",
      "> Bye.",
    );
    assert.equal(
      ownWords(text),
      lines("On Monday, 3 Nov 2026, Crab wrote:", "> First?", "Yes.", "> Second?", "No."),
    );
  });

  it("end before a signature and before an unmarked older mail", () => {
    assert.equal(ownWords(lines("Go on.", "-- ", "Ann", "Chief of Buoys")), "Go on.");
    assert.equal(
      ownWords(lines("Go on.", "", "-----Original Message-----", "From: Crab", "Old words")),
      "Go on.",
    );
    const outlook = lines(
      "Go on.",
      "",
      "From: Crab <crab@example.org>",
      "Sent: Monday",
      "To: Ann",
      "",
      "Old words",
    );
    assert.equal(ownWords(outlook), "Go on.");
    assert.equal(ownWords(lines("Go on.", "", "Sent from my iPhone")), "Go on.");
  });

  it("keep what only resembles a quote or a signature", () => {
    for (const text of [
      "He wrote:\n\nfoo",
      "a > b",
      "From: here to there",
      "Sent from my desk: a letter\nto you",
      "x\n--\ty",
      "On the list:\n- one",
    ])
      assert.equal(ownWords(text), text);
  });

  it("are found in linear time", () => {
    for (const text of [
      "> ".repeat(200_000),
      "On ".repeat(200_000),
      "\n".repeat(200_000),
      `${"a\n> b\n".repeat(50_000)}`,
    ])
      ownWords(text);
  });
});
