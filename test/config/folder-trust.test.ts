import assert from "node:assert/strict";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import {
  FolderTrust,
  forgetTrust,
  recordTrust,
  trustRecords,
} from "../../packages/core/src/config/folder-trust.ts";

describe("the trust of a folder", () => {
  let root: string;
  let home: string;

  beforeEach(() => {
    root = realpathSync.native(mkdtempSync(join(tmpdir(), "pagurus-trust-")));
    home = join(root, "home");
    folder("work/app/src");
    repository("work/app");
    repository("work/app/vendor/lib");
    folder("notes/2026");
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  function folder(name: string): string {
    mkdirSync(join(root, name), { recursive: true });
    return join(root, name);
  }

  function repository(name: string): void {
    folder(`${name}/.git`);
    writeFileSync(join(root, name, ".git", "HEAD"), "ref: refs/heads/main\n");
  }

  const at = (name: string): string => join(root, name);
  const answer = (name: string, folders?: string[]): boolean | undefined =>
    new FolderTrust({ home, folders }).answer(at(name));

  it("is unknown until the user has answered", () => {
    assert.equal(answer("work/app"), undefined);
    assert.equal(new FolderTrust({ home }).isTrusted(at("work/app")), false);
  });

  it("covers a repository from any folder in it, and no repository inside it", () => {
    assert.equal(recordTrust(home, at("work/app/src"), true), at("work/app"));
    assert.equal(answer("work/app/src"), true);
    assert.equal(answer("work/app/vendor/lib"), undefined);
    assert.equal(answer("work"), undefined);
  });

  it("covers what is below a folder outside of any repository, but no repository there", () => {
    recordTrust(home, at("notes"), true);
    assert.equal(answer("notes/2026"), true);
    repository("notes/clone");
    assert.equal(answer("notes/clone"), undefined);
    recordTrust(home, at("notes/2026"), false);
    assert.equal(answer("notes/2026"), false, "the nearest answer decides");
  });

  it("is that of the real folder, whatever link leads there", () => {
    symlinkSync(at("work/app"), at("link"));
    recordTrust(home, at("link"), true);
    assert.equal(answer("work/app"), true);
    rmSync(at("link"));
    symlinkSync(folder("hostile"), at("link"));
    assert.equal(answer("link"), undefined, "a link that leads elsewhere by now");
  });

  it("follows patterns of the configuration, and an answer of the user overrides them", () => {
    const pattern = [`${root}/work/*`];
    assert.equal(answer("work/app/src", pattern), true);
    assert.equal(answer("work/app/vendor/lib", pattern), undefined);
    assert.equal(answer("work/app/vendor/lib", [`${root}/**`]), true);
    assert.equal(answer("notes/2026", [`${root}/notes`]), true);
    assert.equal(answer("notes", [`${root}/note`]), undefined);
    recordTrust(home, at("work/app"), false);
    assert.equal(answer("work/app", pattern), false);
    assert.equal(new FolderTrust({ home, all: true }).answer(at("work/app")), true, "--trust");
  });

  it("is forgotten on request, also for a folder that is gone", () => {
    recordTrust(home, at("notes"), true);
    recordTrust(home, at("work/app"), false);
    assert.deepEqual(
      trustRecords(home).map(({ folder: name, trusted }) => [name, trusted]),
      [
        [at("notes"), true],
        [at("work/app"), false],
      ],
    );
    rmSync(at("notes"), { recursive: true });
    assert.equal(forgetTrust(home, at("notes")), at("notes"));
    assert.equal(forgetTrust(home, at("notes")), undefined);
    assert.equal(trustRecords(home).length, 1);
  });

  it("is not inferred from a damaged record, nor for a folder that does not exist", () => {
    recordTrust(home, at("notes"), true);
    const [name = ""] = readdirSync(join(home, "trust"));
    writeFileSync(join(home, "trust", name), '{"trusted": tr');
    assert.equal(answer("notes"), undefined);
    writeFileSync(join(home, "trust", name), JSON.stringify({ folder: at("work"), trusted: true, at: "" }));
    assert.equal(answer("notes"), undefined, "the record of another folder");
    assert.equal(answer("nothing"), false);
    assert.throws(() => recordTrust(home, at("nothing"), true), { code: "usage_invalid" });
  });
});
