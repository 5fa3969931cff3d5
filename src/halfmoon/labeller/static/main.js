// The page of the server.
import { App } from "./app.js";
import { HttpConnection } from "./http.js";

const address = new URL(location.href);
if (address.searchParams.has("token")) history.replaceState(null, "", "/"); // the cookie knows it from here on
const root = document.createElement("div");
document.body.append(root);
new App(root, new HttpConnection(), { page: true }).start();
