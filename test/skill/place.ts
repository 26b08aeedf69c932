/** Creates a workspace and a home with skills and command files. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";

export class SkillPlace {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), "pagurus-skill-")));
  readonly cwd = join(this.root, "work");
  readonly trusted = true;
  readonly home = join(this.root, "home");

  constructor(t?: TestContext) {
    mkdirSync(this.cwd);
    mkdirSync(this.home, { mode: 0o700 });
    t?.after(() => this.remove());
  }

  /** `path` from the root. */
  write(path: string, text: string): string {
    const full = join(this.root, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, text);
    return full;
  }

  skill(folder: string, name: string, description = `Does ${name}.`): string {
    return this.write(
      `${folder}/${name}/SKILL.md`,
      `---\nname: ${name}\ndescription: ${description}\n---\n# ${name}\n`,
    );
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
