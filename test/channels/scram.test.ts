import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { scram } from "../../packages/channels/src/xmpp/scram.ts";

/** The exchanges that the standards print. */
const EXCHANGES = [
  {
    hash: "sha1",
    nonce: "fyko+d2lbbFgONRv9qkxdawL",
    challenge: "r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096",
    proof: "v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
    verifier: "v=rmF9pqV8S7suAoZWja4dJRkFsKQ=",
  },
  {
    hash: "sha256",
    nonce: "rOprNGfwEbeRWgbNEkqO",
    challenge: "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
    proof: "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
    verifier: "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
  },
] as const;

describe("a login by SCRAM", () => {
  for (const { hash, nonce, challenge, proof, verifier } of EXCHANGES)
    it(`proves the password as the standard's example of ${hash}, and checks the server's proof`, async () => {
      const login = scram(hash, nonce);
      const credentials = { username: "user", password: "pencil" };
      assert.equal(await login.response(credentials), `n,,n=user,r=${nonce}`);
      login.challenge(challenge);
      assert.equal((await login.response(credentials)).split(",p=")[1], proof);
      login.final(verifier);
      assert.throws(() => login.final("v=AAAA"), /does not know the password/);
    });

  it("refuses a challenge that does not answer its own nonce", async () => {
    const login = scram("sha1", "mine");
    await login.response({ username: "a", password: "b" });
    login.challenge("r=other,s=QSXCR+Q6sek8bf92,i=4096");
    await assert.rejects(login.response({ username: "a", password: "b" }), /not valid/);
  });
});
