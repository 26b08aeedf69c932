import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { PagurusError } from "../../../packages/contract/src/errors.ts";
import type { ModelInfo } from "../../../packages/contract/src/model.ts";
import { describeModel } from "../../../packages/core/src/model/resolve.ts";
import { codexClaims } from "../../../packages/runtimes/src/codex/codex-claims.ts";

const root = mkdtempSync(join(tmpdir(), "pagurus-claims-"));
after(() => rmSync(root, { recursive: true, force: true }));

const program = join(root, "codex");
writeFileSync(program, "#!/bin/sh\nexit 70\n");
chmodSync(program, 0o755);

const openai = describeModel("openai/gpt-5.5", {});
const SERVED = { baseUrl: "https://api.example/v1", headers: {} };

let homes = 0;
interface Machine {
  command?: string;
  endpoint?: () => typeof SERVED | undefined;
  /** Files of Codex's own folder. */
  files?: Record<string, string>;
}
function claimsOn({ command = program, endpoint = () => SERVED, files = {} }: Machine = {}) {
  homes += 1;
  const home = join(root, `home-${homes}`);
  mkdirSync(join(home, ".codex"), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(home, ".codex", name), text);
  return codexClaims({ env: { PATH: "", HOME: home }, command, endpoint });
}

describe("Codex", () => {
  it("claims models of openai that the host can call, and no others", () => {
    const { claims, supports } = claimsOn();
    assert.deepEqual(claims(openai), { claims: true });
    const elsewhere: ModelInfo = { ...openai, provider: "company", ref: "company/m" };
    assert.deepEqual(claims(elsewhere), { claims: false });
    assert.deepEqual(supports(elsewhere), { supported: true });
  });

  it("does not claim them over another protocol, with that reason", () => {
    const { claims } = claimsOn();
    assert.deepEqual(claims({ ...openai, api: "openai-completions" }), {
      claims: false,
      reason: "Codex speaks the Responses API and openai/gpt-5.5 is served over openai-completions.",
    });
  });

  it("does not claim them when its program is missing, and says how to install it", () => {
    const { claims, supports } = claimsOn({ command: join(root, "none") });
    const answer = claims(openai);
    assert.match((!answer.claims && answer.reason) || "", /is not there; .*npm install -g @openai\/codex/);
    assert.equal(supports(openai).supported, false);
  });

  it("uses its own login when the host has no key", () => {
    const endpoint = (): undefined => undefined;
    const { claims, supports } = claimsOn({ endpoint, files: { "auth.json": "{}" } });
    assert.deepEqual(claims(openai), { claims: true });
    assert.deepEqual(supports(openai), { supported: true, login: "own" });
    const kept = claimsOn({ endpoint, files: { "config.toml": 'cli_auth_credentials_store = "keyring"\n' } });
    assert.deepEqual(kept.supports(openai), { supported: true, login: "own" });
  });

  it("is not usable with neither a key nor a login", () => {
    const none = claimsOn({ endpoint: () => undefined, files: { "config.toml": 'model = "m"\n' } });
    const reason =
      "The host has no key for openai/gpt-5.5 and Codex is not logged in; set OPENAI_API_KEY, or run codex login.";
    assert.deepEqual(none.supports(openai), { supported: false, reason });
    assert.deepEqual(none.claims(openai), { claims: false, reason });
  });

  it("leaves failures of the host's access to the host", () => {
    const { supports } = claimsOn({
      endpoint: () => {
        throw new PagurusError("credential_missing", "No key.");
      },
    });
    assert.deepEqual(supports(openai), { supported: true });
  });

  it("looks once for many turns", () => {
    const { claims } = claimsOn({ endpoint: () => undefined, files: { "auth.json": "{}" } });
    assert.equal(claims(openai).claims, true);
    rmSync(join(root, `home-${homes}`), { recursive: true });
    assert.equal(claims(openai).claims, true);
  });
});
