import { writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

/** Content of a tarball entry: a text, or a link. */
export type TarContent = string | { link: string };

function header(path: string, size: number, link: string | undefined): Buffer {
  const block = Buffer.alloc(512);
  block.write(`package/${path}`, 0, 100);
  block.write("0000644\0", 100);
  block.write("0000000\0", 108);
  block.write("0000000\0", 116);
  block.write(`${size.toString(8).padStart(11, "0")}\0`, 124);
  block.write("00000000000\0", 136);
  block.write("        ", 148);
  block.write(link === undefined ? "0" : "2", 156);
  if (link !== undefined) block.write(link, 157, 100);
  block.write("ustar\u000000", 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}

/** Writes a package's tarball in npm's format. */
export function writeTarball(file: string, files: Record<string, TarContent>): void {
  const blocks = Object.entries(files).flatMap(([path, content]) => {
    if (typeof content !== "string") return [header(path, 0, content.link)];
    const data = Buffer.from(content);
    return [header(path, data.length, undefined), data, Buffer.alloc((512 - (data.length % 512)) % 512)];
  });
  writeFileSync(file, gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)])));
}
