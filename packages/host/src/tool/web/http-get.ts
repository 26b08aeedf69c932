/** One GET over http or https that connects only to allowed addresses. */
import { errorText } from "@pagurus/core/data/error-text";
import { lookup as systemLookup, type LookupAddress } from "node:dns";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { LookupFunction } from "node:net";
import type { Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { addressKind } from "./address.ts";
import { systemCode, ToolError } from "../tool-error.ts";

export interface HttpAnswer {
  status: number;
  /** Lower case, without parameters. */
  mimeType: string;
  charset: string | undefined;
  location: string | undefined;
  bytes: Buffer;
  /** True when the body was longer than `mostBytes`. */
  cut: boolean;
}

export interface HttpGet {
  url: URL;
  /** The host may be this machine or in a private network. */
  local: boolean;
  mostBytes: number;
  signal: AbortSignal;
}

/**
 * A DNS lookup that refuses forbidden addresses. It is the lookup of the connection itself, so a name that changes its address
 * in between gains nothing.
 */
function guardedLookup(local: boolean): LookupFunction {
  return (hostname, options, callback) => {
    systemLookup(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
      const [first] = found ?? [];
      if (error || !first) {
        callback(error ?? new Error(`no address for ${hostname}`), "", 0);
        return;
      }
      const kinds = found.map(({ address }) => addressKind(address.replace(/%.*$/, "")));
      if (kinds.includes("forbidden") || (!local && kinds.includes("local"))) {
        callback(
          new ToolError(`"${hostname}" leads to an address of a private or link-local network.`),
          "",
          0,
        );
        return;
      }
      if (options.all) callback(null, found);
      else callback(null, first.address, first.family);
    });
  };
}

function openRequest(get: HttpGet): Promise<IncomingMessage> {
  const start = get.url.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const request = start(get.url, {
      // A fresh connection: a pooled one would skip the address check.
      agent: false,
      lookup: guardedLookup(get.local),
      signal: get.signal,
      headers: {
        "user-agent": "pagurus",
        accept: "text/html, application/json;q=0.9, text/*;q=0.9, */*;q=0.5",
        "accept-encoding": "gzip, deflate, br",
      },
    });
    request.once("response", resolve);
    request.once("error", reject);
    request.end();
  });
}

function decodedBody(response: IncomingMessage): Readable {
  const encoding = (response.headers["content-encoding"] ?? "").trim().toLowerCase();
  const decoder =
    encoding === "gzip" || encoding === "x-gzip"
      ? createGunzip()
      : encoding === "deflate"
        ? createInflate()
        : encoding === "br"
          ? createBrotliDecompress()
          : undefined;
  if (!decoder) return response;
  response.once("error", (error) => decoder.destroy(error));
  response.once("close", () => {
    if (!response.complete) decoder.destroy(new Error("the connection closed early"));
  });
  return response.pipe(decoder);
}

async function readBody(
  response: IncomingMessage,
  mostBytes: number,
): Promise<{ bytes: Buffer; cut: boolean }> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of decodedBody(response) as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > mostBytes) break;
  }
  response.destroy();
  const cut = length > mostBytes;
  return { bytes: Buffer.concat(chunks).subarray(0, mostBytes), cut };
}

/** Does not follow redirects. Throws `ToolError`, or the signal's reason. */
export async function httpGet(get: HttpGet): Promise<HttpAnswer> {
  try {
    const response = await openRequest(get);
    const [mimeType = "", ...parameters] = (response.headers["content-type"] ?? "").split(";");
    const charset = /charset=["']?([\w-]+)/i.exec(parameters.join(";"))?.[1];
    const body = await readBody(response, get.mostBytes);
    return {
      ...body,
      status: response.statusCode ?? 0,
      mimeType: mimeType.trim().toLowerCase(),
      charset,
      location: response.headers.location,
    };
  } catch (error) {
    if (error instanceof ToolError) throw error;
    get.signal.throwIfAborted();
    const reason = systemCode(error) ?? errorText(error);
    throw new ToolError(`"${get.url.href}" cannot be fetched: ${reason}.`);
  }
}
