/** Files over XMPP: uploads to the server's service (XEP-0363), and what messages refer to (XEP-0066). */
import { basename } from "node:path";
import { xml } from "@xmpp/client";
import type { Attachment } from "@pagurus/contract/channel/channel";
import { httpGet } from "@pagurus/host/tool/web/http-get";
import { checkUrl } from "@pagurus/host/tool/web/fetch-url";
import { ToolError } from "@pagurus/host/tool/tool-error";
import { ask, type XmppClient } from "./xmpp-client.ts";

const UPLOAD = "urn:xmpp:http:upload:0";
const DISCO = "http://jabber.org/protocol/disco";
const MOST_BYTES = 12 * 1024 * 1024;
const PUT_MS = 60_000;
/** The headers that a slot may ask for. */
const HEADERS = new Set(["authorization", "cookie", "expires"]);

interface Slot {
  put: URL;
  get: URL;
  headers: Record<string, string>;
}

export class XmppFiles {
  readonly #xmpp: XmppClient;
  readonly #domain: string;
  /** Whether the server is on this machine, as its files may be then. */
  readonly #isLocal: boolean;
  #service: Promise<string | undefined> | undefined;
  #origin: Promise<string> | undefined;

  /** The upload service of the domain is looked for when it is needed. */
  constructor(xmpp: XmppClient, domain: string, isLocal: boolean) {
    this.#xmpp = xmpp;
    this.#domain = domain;
    this.#isLocal = isLocal;
  }

  async #slot(name: string, size: number, mimeType: string): Promise<Slot> {
    this.#service ??= uploadService(this.#xmpp, this.#domain);
    const to = await this.#service;
    if (to === undefined) throw new ToolError("the server has no upload service");
    const request = xml("request", {
      xmlns: UPLOAD,
      filename: name,
      size: String(size),
      "content-type": mimeType,
    });
    const answer = await ask(this.#xmpp, xml("iq", { type: "get", to }, request));
    const slot = answer.getChild("slot", UPLOAD);
    const put = slot?.getChild("put");
    const urls = [put, slot?.getChild("get")].map((element) => checkUrl(String(element?.attrs["url"] ?? "")));
    const [up, down] = urls;
    if (!up || !down || urls.some(({ url, local }) => url.protocol !== "https:" && !(local && this.#isLocal)))
      throw new ToolError("the upload service has an address without encryption");
    const headers = (put?.getChildren("header") ?? [])
      .map((header): [string, string] => [String(header.attrs["name"]), header.getText()])
      .filter(([key, value]) => HEADERS.has(key.toLowerCase()) && !/[\r\n]/.test(value));
    return { put: up.url, get: down.url, headers: Object.fromEntries(headers) };
  }

  /** Uploads a file; returns its address. Throws, also what the service answers to a file that it does not take. */
  async upload({ name, mimeType, bytes }: Attachment): Promise<string> {
    const { put, get, headers } = await this.#slot(basename(name), bytes.byteLength, mimeType);
    const answer = await fetch(put, {
      method: "PUT",
      headers: { ...headers, "content-type": mimeType },
      body: Uint8Array.from(bytes),
      redirect: "error",
      signal: AbortSignal.timeout(PUT_MS),
    });
    await answer.arrayBuffer();
    if (!answer.ok) throw new ToolError(`the upload service answered ${answer.status}`);
    return get.href;
  }

  /** Gets what a message refers to. Throws `ToolError`. */
  async download(address: string, signal: AbortSignal): Promise<Attachment> {
    const { url, local } = checkUrl(address);
    // On this machine only the upload service may be asked: another service here is not the sender's to read.
    if (local && !(this.#isLocal && url.origin === (await this.#localOrigin())))
      throw new ToolError("its address is in a private network");
    const answer = await httpGet({ url, local, mostBytes: MOST_BYTES, signal });
    if (answer.status !== 200) throw new ToolError(`its server answered ${answer.status}`);
    if (answer.cut) throw new ToolError(`it has more than ${MOST_BYTES} bytes`);
    const name = basename(decoded(url.pathname)) || "file";
    return { name, mimeType: answer.mimeType, bytes: answer.bytes };
  }

  /** For a message that refers to a file. */
  fetcherOf(address: string): (signal: AbortSignal) => Promise<readonly Attachment[]> {
    return async (signal) => [await this.download(address, signal)];
  }

  #localOrigin(): Promise<string> {
    this.#origin ??= this.#slot("origin.txt", 1, "text/plain").then(({ get }) => get.origin);
    return this.#origin;
  }
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Address of the service; undefined where the domain has none. */
async function uploadService(xmpp: XmppClient, domain: string): Promise<string | undefined> {
  const items = await disco(xmpp, domain, "items");
  const found = items?.getChildren("item").map(({ attrs }) => String(attrs["jid"])) ?? [];
  for (const service of [domain, ...found]) {
    const info = await disco(xmpp, service, "info");
    if (info?.getChildren("feature").some(({ attrs }) => attrs["var"] === UPLOAD)) return service;
  }
  return undefined;
}

/** The service's answer; undefined where it has none. Throws where the connection ends. */
async function disco(xmpp: XmppClient, to: string, what: "items" | "info") {
  const request = xml("iq", { type: "get", to }, xml("query", { xmlns: `${DISCO}#${what}` }));
  try {
    return (await ask(xmpp, request)).getChild("query", `${DISCO}#${what}`);
  } catch (error) {
    if (xmpp.status === "online") return undefined;
    throw error;
  }
}
