/** Turns of a day in a project: calls that the sandbox holds, and calls that would leave it. */

export interface DayTurn {
  /** What the call shows, for the report. */
  title: string;
  name: string;
  arguments: Record<string, unknown>;
}

/** Files of the project, by path. */
export const PROJECT: Readonly<Record<string, string>> = {
  "package.json": `${JSON.stringify(
    {
      name: "day",
      version: "1.0.0",
      type: "module",
      scripts: { test: "node --test", build: "node build.js" },
    },
    null,
    2,
  )}\n`,
  "build.js": `import { mkdirSync, writeFileSync } from "node:fs";\nmkdirSync("build", { recursive: true });\nwriteFileSync("build/out.txt", "built\\n");\n`,
  "src/sum.js": "export const sum = (a, b) => a + b;\n",
  "sum.test.js": `import assert from "node:assert";\nimport { test } from "node:test";\nimport { sum } from "./src/sum.js";\ntest("adds", () => assert.equal(sum(1, 2), 3));\n`,
  "README.md": "# Day\n",
};

const shell = (command: string): DayTurn => ({ title: command, name: "shell", arguments: { command } });
const file = (name: string, args: Record<string, unknown>): DayTurn => ({
  title: `${name} ${String(args["path"] ?? args["pattern"])}`,
  name,
  arguments: args,
});

/** A server and its client in one command, over the loopback. */
const LOOPBACK = `node -e '
const { createServer, get } = require("node:http");
const server = createServer((_, response) => response.end("pong")).listen(0, "127.0.0.1", () =>
  get({ port: server.address().port }, (answer) => answer.on("data", (data) => console.log(String(data))).on("end", () => server.close())));
'`;

/** 40 calls of everyday work; each succeeds after those before it. */
export const EVERYDAY: readonly DayTurn[] = [
  shell("ls -la"),
  shell("cat package.json src/sum.js"),
  shell("npm test"),
  shell("node --test"),
  shell("git status"),
  shell("git diff"),
  shell("git log --oneline -5"),
  shell("git branch -a"),
  file("write", { path: "src/greet.js", content: 'console.log("hello");\n' }),
  file("edit", { path: "src/greet.js", old_text: "hello", new_text: "good morning" }),
  file("read", { path: "src/greet.js" }),
  file("search", { pattern: "export const" }),
  file("glob", { pattern: "**/*.js" }),
  shell("node src/greet.js"),
  shell("node -e 'console.log(process.version)'"),
  shell("mkdir -p notes && touch notes/a.txt && ls notes"),
  shell("git add -A"),
  shell("git commit -q -m 'Greet'"),
  shell("git show --stat HEAD"),
  shell("git switch -q -c feature"),
  file("write", {
    path: "greet.test.js",
    content: 'import { test } from "node:test";\ntest("greets", () => import("./src/greet.js"));\n',
  }),
  shell("npm run build && cat build/out.txt"),
  shell("grep -rn sum src"),
  shell("find . -name '*.test.js' -not -path './node_modules/*'"),
  shell("sed -i 's/morning/evening/' src/greet.js"),
  shell("mv notes/a.txt notes/b.txt && cp notes/b.txt notes/c.txt"),
  shell("rm -r build notes/c.txt"),
  shell("wc -l src/*.js | sort -n | tail -3"),
  shell("git stash -q -u && git stash pop -q"),
  shell("git commit -q -am 'Evening' && git switch -q - && git merge -q feature"),
  shell("git tag v1 && git tag"),
  shell("for f in src/*.js; do basename $f; done | xargs -n 1 echo file:"),
  shell(LOOPBACK),
  shell("awk '{print NF}' README.md"),
  shell("tar czf - src | tar tzf -"),
  shell('printf "#!/bin/sh\\necho ran\\n" > run.sh && chmod +x run.sh && ./run.sh'),
  file("write", { path: "README.md", content: "# Day\n\nA project.\n" }),
  file("edit", { path: "package.json", old_text: '"1.0.0"', new_text: '"1.0.1"' }),
  shell("mktemp -d && node -p 'require(\"node:os\").tmpdir()'"),
  shell("git blame README.md | head -1; git rev-parse HEAD; git diff --stat"),
];

/** 20 calls that leave the sandbox. `outside`: a folder beside the workspace; `tool`: a tool of an MCP server. */
export function leaving(outside: string, tool: string): readonly DayTurn[] {
  return [
    shell("curl -s https://example.com/"),
    shell("npm install left-pad"),
    shell("git push origin main"),
    shell("git fetch"),
    shell("ssh example.com true"),
    { ...shell("node download.js"), arguments: { command: "node download.js", network: true } },
    { title: "web_fetch", name: "web_fetch", arguments: { url: "https://example.com/" } },
    { title: "web_fetch of this machine", name: "web_fetch", arguments: { url: "http://127.0.0.1:9/" } },
    { title: "web_fetch of a private network", name: "web_fetch", arguments: { url: "http://10.0.0.1/" } },
    file("write", { path: `${outside}/new.txt`, content: "x" }),
    file("edit", { path: `${outside}/notes.txt`, old_text: "notes", new_text: "x" }),
    file("read", { path: `${outside}/notes.txt` }),
    file("write", { path: "AGENTS.md", content: "Obey." }),
    file("write", { path: ".vscode/settings.json", content: "{}" }),
    file("write", { path: ".envrc", content: "x" }),
    file("edit", { path: "package.json", old_text: '"node build.js"', new_text: '"node other.js"' }),
    shell("mkdir -p .claude && echo '{}' > .claude/settings.json"),
    shell("echo 'Obey.' > CLAUDE.md"),
    shell("git init -q sub && printf '#!/bin/sh\\n' > sub/.git/hooks/pre-commit"),
    { title: tool, name: tool, arguments: { text: "crab" } },
  ];
}
