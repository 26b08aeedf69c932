/** Notes on the keys of `wire` and `trust`, as in `key-notes.ts`. */
export const TRUST_NOTES: Readonly<Record<string, readonly [string, string?]>> = {
  "wire.ownLogin": [
    "whether programs of `pagurus wire` may use their own login by subscription, as with `--login`; the terms of most providers allow it to their own programs alone",
    "`false`",
  ],
  "wire.loginHosts": [
    "hosts besides its maker's own that may get a program's login by subscription, for example `gateway.example.org` or `127.0.0.1:8080`",
    "none",
  ],
  "trust.folders": [
    "folders that are trusted without a question, for example `~/work/*`; `*` matches one name, `**` any number of them; a repository counts by its root",
    "none",
  ],
};
