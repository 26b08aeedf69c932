import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { assistant, user } from "../../stores/files/fixtures.ts";
import { Drive } from "./drive.ts";
import { FULL } from "../../runner/short-form.ts";

const PAGE = 4_096;

/** A session of a few turns, one compaction among them, and its database at rest. */
class Damaged {
  readonly drive = new Drive({ budget: 6_000 });
  readonly #folder = join(this.drive.dir, "agent");
  readonly file = join(this.#folder, "lossless.db");
  whole = Buffer.alloc(0);
  #length = 0;

  static async made(): Promise<Damaged> {
    const made = new Damaged();
    for (let turn = 0; turn < 24; turn += 1)
      await made.drive.turn(
        user(`Question ${turn} of the harbour office: ${"list the ships. ".repeat(40)}`),
        [],
        assistant(`Answer ${turn}: ${"the ships are listed. ".repeat(40)}`),
      );
    assert.ok(made.drive.compactions > 0);
    await made.drive.engine.dispose?.();
    made.whole = readFileSync(made.file);
    made.#length = made.drive.transcript.entries.length;
    return made;
  }

  /** The first context of a turn with these bytes as the database, and the reports. */
  async turnWith(bytes: Uint8Array): Promise<{ sent: readonly string[]; reports: string[] }> {
    const { drive } = this;
    for (const name of readdirSync(this.#folder)) rmSync(join(this.#folder, name), { recursive: true });
    writeFileSync(this.file, bytes);
    drive.reopen();
    const reports: string[] = [];
    const turnId = drive.begin(user("And the newest one?"));
    const result = await drive.engine.assemble({
      ...drive.params({ turnId, degraded: (reason) => reports.push(reason) }),
      messages: [],
      tokenBudget: drive.budget,
      prompt: "And the newest one?",
    });
    await drive.engine.dispose?.();
    drive.transcript.entries.splice(this.#length);
    const sent = result.messages.map(({ entryId: _entry, timestamp: _time, ...rest }) =>
      JSON.stringify(rest),
    );
    return { sent, reports };
  }

  changed(from: string, to: string): Buffer {
    const bytes = Buffer.from(this.whole);
    const at = bytes.lastIndexOf(from);
    assert.ok(at > 0);
    bytes.write(to, at);
    return bytes;
  }
}

test("a changed word of the database is read again from the transcript, and reported (finding F5)", async () => {
  const damaged = await Damaged.made();
  try {
    const twin = await damaged.turnWith(damaged.whole);
    assert.deepEqual(twin.reports, []);
    const { sent, reports } = await damaged.turnWith(
      damaged.changed("Answer 23: the ships", "Answer 23: the chips"),
    );
    assert.deepEqual(sent, twin.sent);
    assert.equal(reports.length, 1);
    assert.match(
      reports[0] ?? "",
      /^A text in .*lossless\.db was not what was stored and was read again from the transcript/,
    );
    assert.equal(
      readdirSync(join(damaged.drive.dir, "agent")).some((name) => name.includes("damaged")),
      false,
    );
    // The database has the right text again.
    const again = await damaged.turnWith(readFileSync(damaged.file));
    assert.deepEqual(again, twin);
  } finally {
    await damaged.drive.end();
  }
});

test("a database with any one damaged page is set aside and rebuilt in the turn that finds it (finding F6)", async () => {
  const damaged = await Damaged.made();
  try {
    const twin = await damaged.turnWith(damaged.whole);
    let replaced = 0;
    const step = FULL ? 1 : 3;
    for (let page = 0; page * PAGE < damaged.whole.length; page += page < 6 ? 1 : step) {
      const bytes = Buffer.from(damaged.whole);
      bytes.fill(0xa5, page * PAGE, (page + 1) * PAGE);
      const { sent, reports } = await damaged.turnWith(bytes);
      assert.deepEqual(sent, twin.sent, `page ${page + 1}`);
      replaced += reports.length > 0 ? 1 : 0;
      for (const report of reports) assert.match(report, /was damaged and is now lossless\.db\.damaged-\d+/);
    }
    assert.ok(replaced > 3, `${replaced}`);
  } finally {
    await damaged.drive.end();
  }
});
