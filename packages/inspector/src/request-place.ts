/** A request, as the page's parts name it. */
export interface RequestPlace {
  agent: string;
  sessionKey: string;
  request: string;
}
