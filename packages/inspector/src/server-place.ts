/** The address of the server, with the path that a reverse proxy has it at: the page is in its folder `inspector/`. */
export const serverAddress = new URL("..", `${location.origin}${location.pathname}`).href;
