import assert from "node:assert/strict";
import { test } from "node:test";
import { withVariables } from "../../packages/core/src/platform/configured-secret.ts";

test("each variable in a configured value is replaced, and one that is not set or empty is named", () => {
  const env = { USER_NAME: "crab", PASSWORD: "$& ${USER_NAME}", EMPTY: "" };
  const address = "postgres://${USER_NAME}:${PASSWORD}@db/d?x=$USER_NAME";
  // A value is taken as it is, also where it looks like a reference or a pattern of a replacement.
  assert.equal(withVariables(address, "store.url", env), "postgres://crab:$& ${USER_NAME}@db/d?x=$USER_NAME");
  for (const name of ["EMPTY", "NOT_SET"])
    assert.throws(() => withVariables(`a\${${name}}`, "store.url", env), {
      code: "credential_missing",
      message: `store.url refers to the environment variable ${name}, which is not set; set it.`,
    });
});
