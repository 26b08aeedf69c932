// Stands for npm where a test needs it fast or failing: `pack` takes a tarball of FAKE_NPM_REGISTRY, `install` unpacks one.
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";

const [command, ...args] = process.argv.slice(2);
const what = args.at(-1);
const mode = process.env.FAKE_NPM ?? "";
writeFileSync(join(process.cwd(), `.npm-${command}`), JSON.stringify(args));

if (mode === `hang-${command}`) {
  process.on("SIGTERM", () => undefined);
  writeFileSync(process.env.FAKE_NPM_PID, String(process.pid));
  setInterval(() => undefined, 1_000);
} else if (mode === `fail-${command}`) {
  process.stderr.write(
    "npm error code E404\nnpm error 404 Not Found - GET https://user:secret@registry.example/x - Not found\nnpm error A complete log of this run\n",
  );
  process.exitCode = 1;
} else if (command === "pack") {
  const tarball = join(
    process.env.FAKE_NPM_REGISTRY,
    `${what.replace(/^@/, "").replaceAll(/[/@]/g, "-")}.tgz`,
  );
  if (!existsSync(tarball)) {
    process.stderr.write("npm error code E404\nnpm error 404 No such package\n");
    process.exit(1);
  }
  copyFileSync(tarball, "packed.tgz");
  const integrity = mode === "lie" ? "sha512-AAAA" : sha512("packed.tgz");
  process.stdout.write(JSON.stringify([{ filename: "packed.tgz", integrity }]));
} else if (command === "install") {
  unpack(what);
}

function sha512(file) {
  return `sha512-${createHash("sha512").update(readFileSync(file)).digest("base64")}`;
}

function unpack(tarball) {
  const files = entries(gunzipSync(readFileSync(tarball)));
  const pkg = JSON.parse(files.find(({ path }) => path === "package.json").data.toString());
  const folder = join("node_modules", pkg.name);
  for (const { path, data, link } of files) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    if (link === undefined) writeFileSync(file, data);
    else symlinkSync(link, file);
  }
  const hasInstallScript = pkg.scripts?.postinstall !== undefined;
  const entry = {
    version: pkg.version,
    integrity: sha512(tarball),
    ...(hasInstallScript && { hasInstallScript }),
  };
  const packages = { "": {}, [`node_modules/${pkg.name}`]: entry };
  for (const name of Object.keys(pkg.dependencies ?? {}))
    packages[`node_modules/${name}`] = { version: "1.0.0" };
  writeFileSync("package-lock.json", JSON.stringify({ packages }));
  writeFileSync(
    "package.json",
    JSON.stringify({ private: true, dependencies: { [pkg.name]: `file:${tarball}` } }),
  );
}

function entries(tar) {
  const found = [];
  for (let at = 0; at < tar.length && tar[at] !== 0;) {
    const text = (from, length) => tar.toString("utf8", at + from, at + from + length).replace(/\0.*$/s, "");
    const size = Number.parseInt(text(124, 12), 8);
    const link = text(156, 1) === "2" ? text(157, 100) : undefined;
    found.push({
      path: text(0, 100).replace(/^package\//, ""),
      data: tar.subarray(at + 512, at + 512 + size),
      link,
    });
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return found;
}
