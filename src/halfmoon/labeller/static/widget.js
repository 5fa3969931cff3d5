// The labeller in a notebook (anywidget).
import { App } from "./app.js";
import { CommConnection } from "./comm.js";

export default {
  render({ model, el }) {
    const root = document.createElement("div");
    root.tabIndex = -1;
    el.append(root);
    const connection = new CommConnection(model);
    new App(root, connection).start();
    return () => connection.close();
  },
};
