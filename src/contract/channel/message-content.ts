/** What a message says and brings, whatever its service is. */

/** A file that comes or goes with a message. */
export interface Attachment {
  /** A name without folders, as its sender chose it. */
  name: string;
  /** As the sender says; the host looks at the bytes. */
  mimeType: string;
  bytes: Uint8Array;
}

/** What a message says, apart from who wrote it and where. */
export interface MessageContent {
  text: string;
  attachments?: readonly Attachment[];
}
