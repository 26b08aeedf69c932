/** Two folders of one name, four real programs at once in terminals of tmux, resumed and continued in every combination. */
import assert from "node:assert/strict";
import { after, before, describe, it, type TestContext } from "node:test";
import { FOLDERS, FoldersBench, newestOf, SECRETS, type Folder, type Playing } from "./folders-bench.ts";
import { FolderModel, isRefused, type Run } from "./folders-model.ts";
import { everyPair, nameOf, Random, sample, type Round, type Step } from "./folders-walk.ts";
import { FULL } from "../../runner/short-form.ts";

/** The full form walks every ordered pair of steps in both folders, in 101 rounds. */
/** Its sample has a copy, a refusal, and rounds with four programs at once. */
const SEED = 18;

let bench: FoldersBench;

before(async () => {
  bench = await FoldersBench.open();
});
after(() => bench.close());

function walks(): Record<Folder, Round[]> {
  if (FULL)
    return { north: everyPair("claude", new Random(SEED)), south: everyPair("codex", new Random(SEED + 1)) };
  const [north, south] = sample(new Random(SEED));
  return { north, south };
}

interface Live {
  run: Run;
  playing: Playing;
}

/** One folder's walk: starts programs and checks what they did. */
class Walker {
  readonly model: FolderModel;
  readonly runs: Run[] = [];
  readonly #folder: Folder;
  #keys: string[] = [];

  constructor(folder: Folder, random: Random) {
    this.#folder = folder;
    this.model = new FolderModel(SECRETS[folder], random);
  }

  /** Resolves when the program waits for its answer; undefined where it was refused. */
  async start(step: Step): Promise<Live | undefined> {
    const run = this.model.start(step);
    this.runs.push(run);
    const about = `${this.#folder} ${run.word}: ${nameOf(step)} ${run.outcome}`;
    const playing = bench.start(this.#folder, run);
    const ended = await Promise.race([playing.asked, playing.ended]);
    const begun = this.#newKeys();
    if (isRefused(run)) {
      assert.ok(ended, `${about}: it asked its model`);
      assert.equal(ended.code, 1, about + ended.shown);
      const why = run.outcome === "refused" ? /session_locked/ : /already has an active writer/;
      assert.match(ended.shown, why, about);
      assert.deepEqual(begun, [], about);
      return undefined;
    }
    assert.equal(ended, undefined, `${about}: it ended without a request: ${ended?.shown}`);
    if (run.outcome === "continues") assert.deepEqual(begun, [], about);
    else {
      assert.equal(begun.length, 1, `${about}: ${begun.join(" ")}`);
      run.conversation.key = begun[0];
    }
    return { run, playing };
  }

  async end({ run, playing }: Live): Promise<void> {
    const about = `${this.#folder} ${run.word}: ${nameOf(run.step)} ${run.outcome}`;
    const { key = "" } = run.conversation;
    bench.release(run);
    const { code, shown } = await playing.ended;
    assert.equal(code, 0, about + shown);
    assert.ok(shown.includes(`session ${key}: 1 turn, 1 request`), `${about} in ${key}: ${shown}`);
    assert.equal(/in use; .* a copy of its own/.test(shown), run.outcome === "copies", about + shown);
    assert.deepEqual(this.#newKeys(), [], about);
    this.model.end(run);
    assert.deepEqual(bench.transcript(key), run.conversation.words, about);
    this.#checkRequests(run);
  }

  /** Keys of the folder that were not there before. */
  #newKeys(): string[] {
    const keys = bench.keys(this.#folder);
    const known = new Set(this.#keys);
    assert.ok(
      this.#keys.every((key) => keys.includes(key)),
      "a key is gone",
    );
    this.#keys = keys;
    return keys.filter((key) => !known.has(key));
  }

  /** At the end: all conversations of the folder, and requests that came late. */
  check(): void {
    const { conversations } = this.model;
    assert.deepEqual(new Set(this.#keys), new Set(conversations.map(({ key }) => key)));
    for (const { key = "", words } of conversations) assert.deepEqual(bench.transcript(key), words, key);
    for (const run of this.runs) this.#checkRequests(run);
  }

  /** The requests of a run have the words of its conversation, in their order, and no others. */
  #checkRequests(run: Run): void {
    const requests = bench.requests.filter((words) => newestOf(words) === run.word);
    assert.equal(requests.length > 0, !isRefused(run), run.word);
    for (const words of requests) assert.deepEqual(words, run.words, `${run.word}: ${nameOf(run.step)}`);
  }
}

/** The pairs of steps of a walk: one directly after another, and one beside another. */
function pairsOf(rounds: readonly Round[]): { after: Set<string>; beside: Set<string> } {
  const names = rounds.map(({ first }) => nameOf(first));
  const after = names.slice(1).map((name, index) => `${names[index]}, ${name}`);
  const beside = rounds.flatMap(({ first, second }) =>
    second ? [`${nameOf(first)}, ${nameOf(second)}`] : [],
  );
  return { after: new Set(after), beside: new Set(beside) };
}

/** What a reader of the proof wants to know. */
function report(context: TestContext, walkers: Record<Folder, Walker>, atOnce: readonly number[]): void {
  for (const folder of FOLDERS) {
    const { after, beside } = pairsOf(walks()[folder]);
    const { runs, model } = walkers[folder];
    const count = (outcome: Run["outcome"]): number => runs.filter((run) => run.outcome === outcome).length;
    context.diagnostic(
      `${folder}: ${after.size} pairs one after the other, ${beside.size} at once, ${runs.length} runs: ${count("continues")} continued, ` +
        `${count("begins")} new, ${count("copies")} copies, ${count("refused") + count("program-refuses")} refused; ${model.conversations.length} conversations`,
    );
  }
  const four = atOnce.filter((live) => live === 2 * FOLDERS.length).length;
  context.diagnostic(`${four} of ${atOnce.length} rounds had four programs waiting for answers at once`);
}

describe("two folders and four programs at once", () => {
  it("no word crosses in any order of new, resumed and continued conversations (finding A1)", async (context) => {
    const rounds = walks();
    const walkers = {
      north: new Walker("north", new Random(SEED + 2)),
      south: new Walker("south", new Random(SEED + 3)),
    };
    const atOnce: number[] = [];
    for (let index = 0; index < rounds.north.length; index += 1) {
      const live = await Promise.all(
        FOLDERS.map(async (folder) => {
          const { first, second } = rounds[folder][index] ?? {};
          assert.ok(first);
          const started = await walkers[folder].start(first);
          const beside = second && (await walkers[folder].start(second));
          return { folder, all: [beside, started].flatMap((one) => one ?? []) };
        }),
      );
      atOnce.push(live.flatMap(({ all }) => all).length);
      await Promise.all(
        live.map(async ({ folder, all }) => {
          // The second program ends first, so that the next step follows the first one.
          for (const one of all) await walkers[folder].end(one);
        }),
      );
    }
    for (const folder of FOLDERS) walkers[folder].check();
    assert.equal(atOnce[0], 4);
    report(context, walkers, atOnce);
  });

  it("the walks have every pair of steps, and the sample each way", () => {
    for (const program of ["claude", "codex"] as const) {
      const { after, beside } = pairsOf(everyPair(program, new Random(SEED)));
      assert.deepEqual([after.size, beside.size], [100, 100]);
    }
    for (let seed = 0; seed < 20; seed += 1) {
      const both = sample(new Random(seed));
      const stepsOf = (rounds: readonly Round[]): Step[] =>
        rounds.flatMap(({ first, second }) => [first, second ?? first]);
      for (const rounds of both) assert.equal(new Set(stepsOf(rounds).map(({ way }) => way)).size, 5);
      assert.equal(new Set(stepsOf(both.flat()).map(nameOf)).size, 10);
      for (const place of ["first", "second"] as const)
        assert.equal(new Set(both.flat().map((round) => round[place]?.way)).size, 5);
    }
  });
});
