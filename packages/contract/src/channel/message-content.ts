/** Text and files of a message, the same for every service. */

/** A file that comes or goes with a message. */
export interface Attachment {
  /** A name without folders, as its sender chose it. */
  name: string;
  /** As the sender says; the host looks at the bytes. */
  mimeType: string;
  bytes: Uint8Array;
}

/** Content of a message, without its author and place. */
export interface MessageContent {
  text: string;
  attachments?: readonly Attachment[];
}
