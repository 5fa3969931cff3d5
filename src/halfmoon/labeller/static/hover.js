// What lies under the pointer: the item, its prediction, and the labelled rows that drove it.
import { contentOf, reasonsOf, verdictOf } from "./card.js";
import { h } from "./dom.js";

const DELAY = 60; // milliseconds that the pointer has to rest

export class Hover {
  constructor(app) {
    this.app = app;
    this.element = h("div", { class: "hm-hover", role: "tooltip", hidden: true });
    this.row = -1;
  }

  show(row, x, y) {
    this.row = row;
    clearTimeout(this.timer);
    if (row < 0) {
      this.element.hidden = true;
      return;
    }
    this.timer = setTimeout(() => this.fill(row, x, y), DELAY);
  }

  async fill(row, x, y) {
    const { connection } = this.app;
    const [item, why] = await Promise.all([connection.item(row), connection.explain(row)]);
    const parts = [
      h("div", { class: "hm-hover-item" }, await contentOf(this.app, item, false)),
      h("div", { class: "hm-hover-side" }, h("div", { class: "hm-name" }, item.name), h("div", { class: "hm-verdict" }, item.label === null ? verdictOf(this.app, item) : `labelled ${this.app.className(item.label)}`), await reasonsOf(this.app, why.shares, 3)),
    ];
    if (row !== this.row) return;
    this.element.replaceChildren(...parts);
    this.element.hidden = false;
    const { clientWidth: width, clientHeight: height } = this.element.parentElement;
    const box = this.element.getBoundingClientRect();
    this.element.style.left = `${Math.max(4, x + 18 + box.width > width ? x - 18 - box.width : x + 18)}px`;
    this.element.style.top = `${Math.max(4, Math.min(y + 14, height - box.height - 8))}px`;
  }
}
