/**
 * Chooses the images of earlier messages that are sent beside the text in the seam `projection`: the newest ones, within bounds. The
 * same messages give the same images. Each has a number, by which the text names it.
 */
import type { AgentMessage, ImagePart, TextPart } from "@pagurus/contract/message";
import { messageTokens } from "../tokens/message-tokens.ts";

/** Bounds of a prompt's earlier images; for example Anthropic refuses a request of more than 100 images or 32 MB. */
const MOST_IMAGES = 20;
const MOST_BYTES = 8 * 1024 * 1024;
const MOST_TOKENS = 20_000;

export interface ProjectedImages {
  /** By the image's data, in the order of the text: its number, from 1, and whether it is sent. An image that occurs twice has one. */
  readonly known: ReadonlyMap<string, { number: number; isSent: boolean; image: ImagePart }>;
  /** Number of images that are not sent. */
  readonly leftOut: number;
}

export const NO_IMAGES: ProjectedImages = { known: new Map(), leftOut: 0 };

/** Sends no image unless `takesImages` is true. */
export function projectedImages(messages: readonly AgentMessage[], takesImages: boolean): ProjectedImages {
  const images = new Map<string, ImagePart>();
  // Its last occurrence decides how new an image is.
  const order = new Map<string, number>();
  for (const [at, part] of messages.flatMap(imagesIn).entries()) {
    if (!images.has(part.data)) images.set(part.data, part);
    order.set(part.data, at);
  }
  const sent = takesImages ? newestWithin([...images.values()], order) : new Set<string>();
  const known = [...images].map(
    ([data, image], index) => [data, { number: index + 1, isSent: sent.has(data), image }] as const,
  );
  return { known: new Map(known), leftOut: images.size - sent.size };
}

function imagesIn({ content }: AgentMessage): ImagePart[] {
  if (typeof content === "string") return [];
  return content.flatMap((part) => (part.type === "image" ? [part] : []));
}

/** The first image that does not fit ends the search, so that no older one takes the place of a newer one. */
function newestWithin(images: readonly ImagePart[], order: ReadonlyMap<string, number>): Set<string> {
  const sent = new Set<string>();
  let [bytes, tokens] = [0, 0];
  for (const image of images.toSorted((a, b) => (order.get(b.data) ?? 0) - (order.get(a.data) ?? 0))) {
    bytes += image.data.length;
    tokens += messageTokens({ role: "user", content: [image] });
    if (sent.size >= MOST_IMAGES || bytes > MOST_BYTES || tokens > MOST_TOKENS) break;
    sent.add(image.data);
  }
  return sent;
}

/** The word for an image in the text. */
export function imageWord({ data }: ImagePart, { known }: ProjectedImages): string {
  const found = known.get(data);
  if (!found) return "[image]";
  return found.isSent ? `[image ${found.number}]` : `[image ${found.number}, not shown]`;
}

/** The images that are sent, each below a line with its number, in the order of the text. */
export function imageParts({ known }: ProjectedImages): (TextPart | ImagePart)[] {
  return [...known.values()].flatMap(({ number, isSent, image }) =>
    isSent ? [{ type: "text" as const, text: `[image ${number}]` }, image] : [],
  );
}

/** Reason of a degradation; undefined if all images are sent. `cannot`: reason why the runtime takes no images. */
export function imagesLeftOut({ leftOut }: ProjectedImages, cannot: string | undefined): string | undefined {
  if (leftOut === 0) return undefined;
  const [images, are] = leftOut === 1 ? ["image", "is"] : ["images", "are"];
  const why =
    cannot ??
    `a prompt has at most ${MOST_IMAGES} of them, ${MOST_BYTES / 1024 / 1024} MiB and about ${MOST_TOKENS} tokens`;
  return `${leftOut} ${images} of earlier messages ${are} only named in the text: ${why}`;
}
