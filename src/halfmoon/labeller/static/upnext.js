// The next items of the queue, small.
import { h } from "./dom.js";
import { thumbnail } from "./card.js";

export class UpNext {
  constructor(app) {
    this.app = app;
    this.list = h("ol", { class: "hm-next", "aria-label": "Next items" });
    this.element = this.list;
    this.key = "";
  }

  async show(entries) {
    const key = entries.map(({ row }) => row).join();
    if (key === this.key) return;
    this.key = key;
    const lines = await Promise.all(entries.map(async ({ row, drawn }) => h("li", { class: drawn ? "hm-drawn" : "", title: drawn ? `row ${row + 1}, drawn at random` : `row ${row + 1}` }, await thumbnail(this.app, row))));
    if (key === this.key) this.list.replaceChildren(...lines);
  }
}
